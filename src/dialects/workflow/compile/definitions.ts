import type { JsonObject } from "#lib/base/index.ts";
import type { Graph } from "#engine/index.ts";
import type { CompiledConcurrency, CompiledStep, WorkflowOutput } from "./compiled.ts";
import type { ExpiringStep } from "./expiring.ts";

/** A checked specification, without who runs it: what runs of equal specifications share. Immutable. */
export interface Definition {
  readonly steps: ReadonlyMap<string, CompiledStep>;
  readonly graphs: { readonly main: Graph; readonly final: Graph };
  readonly outputs: readonly WorkflowOutput[];
  readonly concurrency: CompiledConcurrency | undefined;
  readonly params: JsonObject;
  readonly expiring: readonly ExpiringStep[];
  readonly selector: Readonly<Record<string, string>>;
}

const mostDefinitions = 64;
const longestKey = 64 * 1024;

/**
 * Faultless definitions by a text that says all they are made from, so that the thousandth run of a workflow is not checked and
 * compiled like the first: that was a tenth of what a run of ten short steps costs. A text that comes for the first time is only
 * remembered, so workflows that run once are never kept. At most 64 texts of at most 64 Ki characters; the least recently used
 * goes.
 */
export class Definitions {
  readonly #known = new Map<string, Definition | "seen">();

  /**
   * The definition of a text that was seen before, undefined for others. `define` makes it when it is asked for the first time,
   * from values that nobody can change afterwards; where it finds a fault it answers undefined, and the text is forgotten.
   */
  get(key: string, define: () => Definition | undefined): Definition | undefined {
    if (key.length > longestKey) return undefined;
    const known = this.#known.get(key);
    if (known === undefined) return undefined;
    this.#known.delete(key);
    const definition = known === "seen" ? define() : known;
    if (definition !== undefined) this.#known.set(key, definition);
    return definition;
  }

  /** Remembers a text from which a definition without any fault was made. */
  see(key: string): void {
    if (key.length > longestKey || this.#known.has(key)) return;
    this.#known.set(key, "seen");
    if (this.#known.size <= mostDefinitions) return;
    for (const oldest of this.#known.keys()) {
      this.#known.delete(oldest);
      return;
    }
  }
}
