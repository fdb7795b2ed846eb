import { type JsonObject, objectAt, ok, type Result } from "#lib/base/index.ts";
import { hashName } from "#lib/base/index.node.ts";
import { canonicalJson } from "#lib/json/index.ts";
import { renderChart } from "../sources/helm.ts";
import type { SourceScope, UseCaseParts } from "../sources/parts.ts";
import type { ContextOptions } from "./context.ts";

/** The objects of a `helmchart` component. */
export type ChartRenderer = (
  scope: SourceScope,
  properties: JsonObject,
  place: ContextOptions,
) => Promise<Result<readonly JsonObject[], string>>;

/** Beyond this, the oldest renderings are forgotten. */
const mostKept = 100;

/** Reads a source once for each revision, because every pass renders and a branch may move meanwhile. */
export function chartRenderer(parts: UseCaseParts): ChartRenderer {
  const kept = new Map<string, readonly JsonObject[]>();
  return async (scope, properties, { namespace }) => {
    const { uid, generation, revision } = scope.app.identity;
    const key = hashName([uid, String(generation), revision, namespace, canonicalJson(properties)], 32);
    const known = kept.get(key);
    if (known !== undefined) return ok(known);
    const release = { namespace, ...objectAt(properties, "release") };
    const rendered = await renderChart({ ...properties, release }, scope, parts);
    if (!rendered.ok) return rendered;
    const [oldest] = kept.keys();
    if (kept.size >= mostKept && oldest !== undefined) kept.delete(oldest);
    kept.set(key, rendered.value.objects);
    return ok(rendered.value.objects);
  };
}
