import { ModuleSystem } from "./system.ts";
import { importsOf, instantiate, type WasmMemory } from "./web-assembly.ts";

/** See `go/main.go`. */
interface Exports {
  readonly memory: WasmMemory;
  readonly _initialize: () => void;
  /** Allocates a question of this length; returns its address. */
  readonly room: (length: number) => number;
  /** Answers it: address in the upper 32 bits, length in the lower. */
  readonly reply: () => bigint;
}

/** One instance of the Go module with its own memory. Blocks its thread while it answers. */
export class GoModule {
  readonly #exports: Exports;
  readonly #system = new ModuleSystem(() => this.#exports.memory.buffer);

  constructor(module: WebAssembly.Module) {
    const imports = this.#system.imports(importsOf(module));
    // A test of the artifact calls each export.
    this.#exports = instantiate(module, { wasi_snapshot_preview1: imports }).exports as Exports;
    this.#exports._initialize();
  }

  /** Never shrinks. */
  get memoryBytes(): number {
    return this.#exports.memory.buffer.byteLength;
  }

  get ranOutOfMemory(): boolean {
    return /^runtime: out of memory|^fatal error: out of memory/m.test(this.#system.lastWords);
  }

  /** The beginning of what Go printed before it ended. */
  get lastWords(): string {
    return this.#system.lastWords;
  }

  /** Throws if the module ends; it is unusable afterwards. */
  ask(question: string): string {
    const { memory, room, reply } = this.#exports;
    const bytes = Buffer.from(question);
    const at = room(bytes.length);
    // The buffer is looked up after each call, because a memory that has grown has another one.
    Buffer.from(memory.buffer).set(bytes, at);
    const answer = reply();
    return Buffer.from(memory.buffer, Number(answer >> 32n), Number(answer & 0xffff_ffffn)).toString();
  }
}
