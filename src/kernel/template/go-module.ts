import { ModuleSystem } from "./system.ts";
import { importsOf, instantiate, type WasmMemory } from "./web-assembly.ts";

/** What the module exports; see `go/main.go`. */
interface Exports {
  readonly memory: WasmMemory;
  /** Starts Go's runtime. */
  readonly _initialize: () => void;
  /** Makes room for a question of so many bytes; returns where. */
  readonly room: (length: number) => number;
  /** Answers it: the address in the upper 32 bits, the length in the lower. */
  readonly reply: () => bigint;
}

/** One instance of the Go module, with a memory of its own. What it is asked, it is asked in this thread, which waits. */
export class GoModule {
  readonly #exports: Exports;
  readonly #system = new ModuleSystem(() => this.#exports.memory.buffer);

  constructor(module: WebAssembly.Module) {
    const imports = this.#system.imports(importsOf(module));
    // What Go's linker has exported; tests of the artifact call all of it.
    this.#exports = instantiate(module, { wasi_snapshot_preview1: imports }).exports as Exports;
    this.#exports._initialize();
  }

  /** What the instance has taken; it never gives back. */
  get memoryBytes(): number {
    return this.#exports.memory.buffer.byteLength;
  }

  /** Whether the module's last words were of memory. */
  get ranOutOfMemory(): boolean {
    return /^runtime: out of memory|^fatal error: out of memory/m.test(this.#system.lastWords);
  }

  /** The beginning of what Go has printed before it ended. */
  get lastWords(): string {
    return this.#system.lastWords;
  }

  /** Throws when the module ends, after which it can be asked no more. */
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
