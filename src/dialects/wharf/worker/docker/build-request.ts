import { posix } from "node:path";
import type { StepPlan } from "../../plan/step-plan.ts";

export interface BuildRequest {
  readonly context: string;
  readonly dockerfile: string;
  readonly destinations: readonly string[];
  readonly isPushed: boolean;
  readonly args: Readonly<Record<string, string>>;
}

/** Reads the plan's kaniko options. Arguments without a value are variables. Insecure registries are configured in the
 * engine. */
export function buildRequestOf({ args, workdir }: StepPlan, env: Readonly<Record<string, string>>): BuildRequest {
  const valuesOf = (option: string): readonly string[] => args.filter((_, index) => args[index - 1] === option);
  const relative = (path: string): string => posix.relative(workdir, path) || ".";
  return {
    context: relative(valuesOf("--context")[0] ?? workdir),
    dockerfile: relative(valuesOf("--dockerfile")[0] ?? posix.join(workdir, "Dockerfile")),
    destinations: valuesOf("--destination"),
    isPushed: !args.includes("--no-push"),
    args: Object.fromEntries(valuesOf("--build-arg").map((given) => argumentOf(given, env))),
  };
}

function argumentOf(given: string, env: Readonly<Record<string, string>>): readonly [string, string] {
  const equals = given.indexOf("=");
  return equals < 0 ? [given, env[given] ?? ""] : [given.slice(0, equals), given.slice(equals + 1)];
}
