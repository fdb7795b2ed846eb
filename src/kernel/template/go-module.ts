import { WASI } from "node:wasi";
import { instantiate, type WasmMemory } from "./web-assembly.ts";

/** What the module exports; see `go/main.go`. */
interface Exports {
  readonly memory: WasmMemory;
  /** Makes room for a question of so many bytes; returns where. */
  readonly room: (length: number) => number;
  /** Answers it: the address in the upper 32 bits, the length in the lower. */
  readonly reply: () => bigint;
}

/** The module has ended itself: Go does so when it runs out of memory, and for bugs. No call of it is possible any more. */
class ModuleExit extends Error {}

/** Go prints why it ends before anything else; of a trace of calls the beginning is enough. */
const maxStderrBytes = 4096;

/** One instance of the Go module, with a memory of its own. What it is asked, it is asked in this thread, which waits. */
export class GoModule {
  readonly #exports: Exports;
  #stderr = "";

  constructor(module: WebAssembly.Module) {
    // Neither files, nor arguments, nor variables: the module sees the clock, random numbers, and what it is asked.
    const wasi = new WASI({ version: "preview1", args: [], env: {}, preopens: {} });
    const system = {
      ...wasi.wasiImport,
      fd_write: (file: number, parts: number, count: number, written: number) =>
        this.#write(file, parts, count, written),
      proc_exit: (code: number) => {
        throw new ModuleExit(`the module has exited with ${code}`);
      },
    };
    const instance = instantiate(module, { wasi_snapshot_preview1: system });
    wasi.initialize(instance);
    // What the linker has exported; a test of the artifact calls all of it.
    this.#exports = instance.exports as Exports;
  }

  get memoryBytes(): number {
    return this.#exports.memory.buffer.byteLength;
  }

  /** Throws when the module ends; `ranOutOfMemory` tells why. */
  ask(question: string): string {
    const { memory, room, reply } = this.#exports;
    const bytes = Buffer.from(question);
    const at = room(bytes.length);
    // The memory's buffer is another one whenever the memory has grown.
    Buffer.from(memory.buffer).set(bytes, at);
    const answer = reply();
    return Buffer.from(memory.buffer, Number(answer >> 32n), Number(answer & 0xffff_ffffn)).toString();
  }

  /** Whether the module's last words were of memory. */
  get ranOutOfMemory(): boolean {
    return /out of memory|cannot allocate/.test(this.#stderr);
  }

  get lastWords(): string {
    return this.#stderr;
  }

  /** `fd_write` of WASI: keeps the beginning of what Go has to say, and shows nobody. */
  #write(file: number, parts: number, count: number, written: number): number {
    const { buffer } = this.#exports.memory;
    const view = new DataView(buffer);
    let total = 0;
    for (let at = parts; at < parts + count * 8; at += 8) {
      const length = view.getUint32(at + 4, true);
      const room = maxStderrBytes - this.#stderr.length;
      if (file === 2) this.#stderr += Buffer.from(buffer, view.getUint32(at, true), Math.min(length, room)).toString();
      total += length;
    }
    view.setUint32(written, total, true);
    return 0;
  }
}
