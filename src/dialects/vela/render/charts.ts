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

/** Beyond these, the oldest renderings are forgotten. */
const mostKept = 100;
const mostKeptBytes = 64 * 2 ** 20;

/** Renderings by key, the oldest first. */
export class KeptObjects {
  readonly #kept = new Map<string, { readonly objects: readonly JsonObject[]; readonly bytes: number }>();
  readonly #mostBytes: number;
  #bytes = 0;

  constructor(mostBytes = mostKeptBytes) {
    this.#mostBytes = mostBytes;
  }

  get(key: string): readonly JsonObject[] | undefined {
    return this.#kept.get(key)?.objects;
  }

  set(key: string, objects: readonly JsonObject[]): void {
    this.#forget(key);
    const bytes = JSON.stringify(objects).length;
    this.#kept.set(key, { objects, bytes });
    this.#bytes += bytes;
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size <= mostKept && this.#bytes <= this.#mostBytes) return;
      this.#forget(oldest);
    }
  }

  #forget(key: string): void {
    this.#bytes -= this.#kept.get(key)?.bytes ?? 0;
    this.#kept.delete(key);
  }
}

/** Reads a source once for each revision, because every pass renders and a branch may move meanwhile. */
export function chartRenderer(parts: UseCaseParts): ChartRenderer {
  const kept = new KeptObjects();
  return async (scope, properties, { namespace }) => {
    const { uid, generation, revision } = scope.app.identity;
    const key = hashName([uid, String(generation), revision, namespace, canonicalJson(properties)], 32);
    const known = kept.get(key);
    if (known !== undefined) return ok(known);
    const release = { namespace, ...objectAt(properties, "release") };
    const rendered = await renderChart({ ...properties, release }, scope, parts);
    if (!rendered.ok) return rendered;
    kept.set(key, rendered.value.objects);
    return ok(rendered.value.objects);
  };
}
