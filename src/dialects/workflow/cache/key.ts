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

/** Annotation of a step's child: the name of the cache entry to store its result in. */
export const cacheKeyAnnotation = "slipway.dev/cache-key";

export interface CacheKey {
  readonly name: string;
  /** The step's own key; absent if its inputs are the key. */
  readonly key?: string;
  readonly inputs: Readonly<Record<string, string>>;
}

/**
 * The key of an attempt: the rendered child, its outputs, its item, and the writer of the workflow, but no names of
 * workflow, step, attempt or index. Undefined without a cache, or if the child cannot be rendered and so not started.
 * The error is about `cache.key`.
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

/** Digests of the step's input files by path; null if missing. Part of a given key, too. */
const artifactDigests = ({ step, values }: Attempt): JsonObject =>
  Object.fromEntries(
    step.takes.flatMap((input): [string, JsonValue][] => {
      const left = leftFor(input, values.state);
      if (left.length === 0) return [[input.path, null]];
      return left.map(({ path, stored }) => [path, stored["digest"] ?? null]);
    }),
  );

/** The rendered child; undefined if rendering fails. */
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

const asJson = (value: object | undefined): JsonObject => {
  const copy: unknown = JSON.parse(JSON.stringify(value ?? {}));
  return isJsonObject(copy) ? copy : {};
};

/** Values that output and completion expressions use besides the child's result. */
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

/** Null if there is no such value. */
function valueAt(bindings: CelBindings, { root, path }: Pick<CelReference, "root" | "path">): JsonValue {
  let value: JsonValue | undefined = bindings[root];
  for (const name of path) value = value === undefined ? undefined : getMember(value, name);
  return value ?? null;
}
