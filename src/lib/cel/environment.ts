import { Environment } from "@marcbachmann/cel-js";
import { libraryFunctions, libraryOperators, libraryTypes } from "./library/index.ts";
import { hasFunction } from "./has.ts";
import { registeredSignature } from "./names.ts";
import type { CelBindings, CelEnvironment, CelFunction } from "./types.ts";
import type { Meter } from "./cost.ts";
import { fromCel, toCel } from "./values.ts";

/** What the evaluation that is running at the moment works with. Evaluations are synchronous and restore it. */
export interface Running {
  readonly meter: Meter;
  bindings: CelBindings;
}

/** The library's environment for one of ours, ready to parse. */
export interface Prepared {
  readonly cel: Environment;
  readonly running: Running;
}

const prepared = new WeakMap<CelEnvironment, Prepared>();
let sharedBase: Environment | undefined;

/** Making an environment is expensive (about a millisecond), so each of the caller's objects gets one. */
export function prepareEnvironment(environment: CelEnvironment): Prepared {
  const known = prepared.get(environment);
  if (known !== undefined) return known;
  sharedBase ??= createBase();
  const running: Running = { meter: { left: 0 }, bindings: {} };
  const cel = sharedBase.clone();
  for (const [name, type] of Object.entries(environment.variables)) cel.registerVariable(name, type);
  for (const added of environment.functions ?? []) registerOwn(cel, added, running);
  const made: Prepared = { cel, running };
  prepared.set(environment, made);
  return made;
}

/** The longest chain of operators this allows stays far from overflowing the call stack of the evaluator. */
const limits = {
  maxAstNodes: 3_000,
  maxDepth: 100,
  maxListElements: 1_000,
  maxMapEntries: 1_000,
  maxCallArguments: 32,
};

function createBase(): Environment {
  const base = new Environment({ homogeneousAggregateLiterals: false, enableOptionalTypes: true, limits });
  for (const [name, ctor] of libraryTypes) base.registerType(name, { ctor, fields: {} });
  for (const [signature, handler] of libraryOperators) base.registerOperator(signature, handler);
  for (const added of [...libraryFunctions, hasFunction]) {
    base.registerFunction(registeredSignature(added), (...args: unknown[]) => added.call(...args), { async: false });
  }
  return base;
}

function registerOwn(cel: Environment, added: CelFunction, running: Running): void {
  const handler = (...args: unknown[]): unknown => toCel(added.call(args.map(fromCel), running.bindings));
  cel.registerFunction(added.signature, handler, { async: false });
}
