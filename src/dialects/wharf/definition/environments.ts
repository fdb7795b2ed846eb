import { nearest } from "#lib/text/index.ts";
import type { Environment } from "./definition.ts";
import { below, type Reporter, type Spot } from "./diagnostics.ts";
import { isNull, kindOf, type Node } from "./node.ts";
import { spotOf } from "./values.ts";

export function readEnvironments(node: Node | undefined, reporter: Reporter): ReadonlyMap<string, Environment> {
  if (node === undefined) return new Map();
  if (isNull(node)) {
    reporter.warn(spotOf("environments", node), "type", "expected map of environments, found null; there are none");
    return new Map();
  }
  if (node.kind !== "map") {
    reporter.error(spotOf("environments", node), "type", `expected map of environments, found ${kindOf(node)}`);
    return new Map();
  }
  return new Map(
    node.members.map(({ name, value }) => [name, readEnvironment(value, below("environments", name), reporter)]),
  );
}

/** An environment without variables is still useful to select stages. */
function readEnvironment(node: Node, scope: string, reporter: Reporter): Environment {
  if (isNull(node)) return new Map();
  if (node.kind !== "map") {
    reporter.error(spotOf(scope, node), "type", `expected map of variables, found ${kindOf(node)}`);
    return new Map();
  }
  return new Map(
    node.members.flatMap(({ name, value }) => {
      if (value.kind === "scalar") return [[name, value] as const];
      const message = `expected text, number or boolean, found ${kindOf(value)}`;
      reporter.error(spotOf(below(scope, name), value), "type", message);
      return [];
    }),
  );
}

export function reportUndeclared(spot: Spot, name: string, declared: Iterable<string>, { error }: Reporter): void {
  const names = [...declared];
  const meant = nearest(name, names);
  const known = names.length === 0 ? "none is declared" : `declared are ${names.slice(0, 20).join(", ")}`;
  const hint = meant === undefined ? known : `did you mean "${meant}"?`;
  error(spot, "env-undefined", `there is no environment "${name}"`, { hint });
}
