import { err, isJsonObject, type JsonObject, type JsonValue, ok, type Result } from "#lib/base/index.ts";
import { hashName } from "#lib/base/index.node.ts";
import type { CelBindings, CelReference } from "#lib/cel/index.ts";
import { canonicalJson, getMember } from "#lib/json/index.ts";
import { leftFor } from "../compile/artifacts.ts";
import type { CompiledStep } from "../compile/compiled.ts";
import type { CompiledExpression } from "../compile/expressions.ts";
import { bindingsOf, render } from "../compile/values.ts";
import type { Attempt } from "../steps/executor.ts";
import { writerNamesOf } from "../writer.ts";
import { shownInputs } from "./shown-inputs.ts";

/** On the child of a step with a cache: the name of the entry that its result is to be stored as. */
export const cacheKeyAnnotation = "slipway.dev/cache-key";

/** What makes two attempts the same work. */
export interface CacheKey {
  /** Name of the entry: a hash of all of it. */
  readonly name: string;
  /** As the step has given it; absent where its inputs are the key. */
  readonly key?: string;
  /** All of it, for people; see `shownInputs`. */
  readonly inputs: Readonly<Record<string, string>>;
}

/**
 * The key of an attempt, from what it is carried out with: what it creates with all expressions filled in, what its outputs are made from,
 * its item, and who wrote the workflow. Names that follow from the run are no part of it: those of workflow and step, the number of the
 * attempt, the index of the item. Undefined for a step without a cache, and where what it would create cannot be told: then it cannot be
 * started either. The error is about `cache.key` alone.
 */
export function cacheKeyOf(attempt: Attempt): Result<CacheKey | undefined, string> {
  const { step, compiled, values, workflow } = attempt;
  if (step.cache === undefined) return ok(undefined);
  const common = { writer: writerNamesOf(workflow), artifacts: artifactDigests(attempt) };
  if (step.cache.key !== undefined) {
    const key = render(step.cache.key, compiled, values);
    if (!key.ok) return err(`cache.key: ${key.error}`);
    const text = typeof key.value === "string" ? key.value : JSON.stringify(key.value);
    return ok({ ...named({ ...common, key: text }), key: text.slice(0, 256) });
  }
  const work = workOf(attempt);
  return ok(work === undefined ? undefined : named({ ...common, ...work }));
}

const named = (material: JsonObject): CacheKey => ({
  name: hashName([canonicalJson(material)], 51),
  inputs: shownInputs(material),
});

/** Contents of the files the step takes, by where they are put; null for one that is not there. They join a key that is given, too. */
const artifactDigests = ({ step, values }: Attempt): JsonObject =>
  Object.fromEntries(
    step.takes.flatMap((input): [string, JsonValue][] => {
      const left = leftFor(input, values.state);
      if (left.length === 0) return [[input.path, null]];
      return left.map(({ path, stored }) => [path, stored["digest"] ?? null]);
    }),
  );

/** What is carried out, rendered; undefined where that fails. */
function workOf({ step, compiled, values, item }: Attempt): JsonObject | undefined {
  const { type, body } = step;
  const rendered = body === undefined ? ok({}) : render(body, compiled, values);
  if (!rendered.ok) return undefined;
  const { serviceAccountName, podDefaults } = compiled.spec;
  const isJob = type === "jobTemplate" || type === "container";
  return {
    [type]: type === "workflow" ? { ...asJson(step.step.workflow), arguments: rendered.value } : rendered.value,
    outputs: asJson(step.step.outputs),
    ...(step.step.completion === undefined ? {} : { completion: step.step.completion }),
    ...(isJob ? { pods: { ...asJson({ serviceAccountName, podDefaults }) } } : {}),
    ...(item === undefined ? {} : { item: item.value }),
    ...(step.leaves.length === 0 ? {} : { outputArtifacts: step.leaves.map((leaf) => asJson(leaf)) }),
    values: usedValues(step, { compiled, values }),
  };
}

/** A part of a document as JSON: what is undefined is left out. */
const asJson = (value: object | undefined): JsonObject => {
  const copy: unknown = JSON.parse(JSON.stringify(value ?? {}));
  return isJsonObject(copy) ? copy : {};
};

/** Of the expressions that are evaluated when the child has ended, the values they name beside its result. */
function usedValues(step: CompiledStep, { compiled, values }: Pick<Attempt, "compiled" | "values">): JsonObject {
  const { completion } = step;
  const expressions = [
    ...step.outputs.map(({ expression }) => expression),
    ...(completion?.is === "expressions" ? [completion.success, completion.failure] : []),
  ];
  const found: Record<string, JsonValue> = {};
  for (const expression of expressions.filter((one): one is CompiledExpression => one !== undefined)) {
    const bindings = bindingsOf(compiled, values, expression.uses);
    for (const { root, path } of expression.program.references.variables) {
      if (root === "result" || root === "object" || root === "index") continue;
      found[[root, ...path].join(".")] = valueAt(bindings, { root, path });
    }
  }
  return found;
}

/** What an expression finds under a name; null where there is nothing. */
function valueAt(bindings: CelBindings, { root, path }: Pick<CelReference, "root" | "path">): JsonValue {
  let value: JsonValue | undefined = bindings[root];
  for (const name of path) value = value === undefined ? undefined : getMember(value, name);
  return value ?? null;
}
