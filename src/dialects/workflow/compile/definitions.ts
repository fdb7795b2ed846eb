import type { JsonObject } from "#lib/base/index.ts";
import type { Graph } from "#engine/index.ts";
import type { CompiledConcurrency, CompiledStep, WorkflowOutput } from "./compiled.ts";
import type { ExpiringStep } from "./expiring.ts";

/** A validated spec without its object, shared by runs of equal specs. Immutable. */
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
 * Faultless definitions by their text, because compiling was a tenth of the cost of a run of ten short steps. A text is
 * kept from its second use on; at most 64 texts of 64 Ki characters, least recently used first out.
 */
export class Definitions {
  readonly #known = new Map<string, Definition | "seen">();

  /** The definition of a known text, made by `define` on first use; if undefined the text is forgotten. */
  get(key: string, define: () => Definition | undefined): Definition | undefined {
    if (key.length > longestKey) return undefined;
    const known = this.#known.get(key);
    if (known === undefined) return undefined;
    this.#known.delete(key);
    const definition = known === "seen" ? define() : known;
    if (definition !== undefined) this.#known.set(key, definition);
    return definition;
  }

  /** Remembers a text that compiled without faults. */
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
