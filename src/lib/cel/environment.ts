import { Environment } from "@marcbachmann/cel-js";
import { libraryConstants, libraryFunctions, libraryOperators, libraryTypes } from "./library/index.ts";
import { hasFunction } from "./has.ts";
import { registeredSignature } from "./names.ts";
import type { CelBindings, CelEnvironment, CelFunction, CelProgram } from "./types.ts";
import type { Meter } from "./cost.ts";
import { fromCel, toCel } from "./values.ts";

/** What the evaluation that is running at the moment works with. Evaluations are synchronous and restore it. */
export interface Running {
  readonly meter: Meter;
  /** What functions of the caller are given beside their arguments. */
  bindings: CelBindings;
}

/** The library's environment for one of ours, ready to parse. */
export interface Prepared {
  readonly cel: Environment;
  readonly running: Running;
  /** Compiled before, by their texts; `compile.ts` keeps it small. */
  readonly programs: Map<string, CelProgram>;
}

// By identity: an equal environment in another object is prepared anew. Dropped together with the caller's object.
const prepared = new WeakMap<CelEnvironment, Prepared>();
// Everything that all environments share, made when the first one is needed, so that loading this folder costs nothing.
let sharedBase: Environment | undefined;

/** Making an environment is expensive (about a millisecond), so each of the caller's objects gets one. */
export function prepareEnvironment(environment: CelEnvironment): Prepared {
  const known = prepared.get(environment);
  if (known !== undefined) return known;
  sharedBase ??= createBase();
  const running: Running = { meter: { left: 0 }, bindings: {} };
  const cel = sharedBase.clone();
  for (const [name, type, value] of libraryConstants) {
    if (!Object.hasOwn(environment.variables, name)) cel.registerConstant(name, type, value);
  }
  for (const [name, type] of Object.entries(environment.variables)) cel.registerVariable(name, type);
  for (const added of environment.functions ?? []) registerOwn(cel, added, running);
  const made: Prepared = { cel, running, programs: new Map() };
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

/** Literals may mix types, as in JSON. Functions with a signature of the library get marked names (`names.ts`). */
function createBase(): Environment {
  const base = new Environment({ homogeneousAggregateLiterals: false, enableOptionalTypes: true, limits });
  for (const [name, ctor] of libraryTypes) base.registerType(name, { ctor, fields: {} });
  for (const [signature, handler] of libraryOperators) base.registerOperator(signature, handler);
  for (const added of [...libraryFunctions, hasFunction]) {
    base.registerFunction(registeredSignature(added), (...args: unknown[]) => added.call(...args), { async: false });
  }
  return base;
}

/** A function of the caller: arguments and results are JSON, so that callers need to know nothing of CEL's values. */
function registerOwn(cel: Environment, added: CelFunction, running: Running): void {
  const handler = (...args: unknown[]): unknown => toCel(added.call(args.map(fromCel), running.bindings));
  cel.registerFunction(added.signature, handler, { async: false });
}
