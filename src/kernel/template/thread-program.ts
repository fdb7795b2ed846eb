// Program of a thread with one instance of the Go module.
import { readFileSync, readlinkSync } from "node:fs";
import { basename } from "node:path";
import { setFlagsFromString } from "node:v8";
import { parentPort, workerData } from "node:worker_threads";
import { brotliDecompressSync } from "node:zlib";
import { messageOf } from "#lib/base/index.ts";
import { compileModule, importsOf, instantiate, type WasmMemory } from "./web-assembly.ts";
import type { ThreadAnswer, ThreadMessage, ThreadStart } from "./protocol.ts";
import { ModuleSystem } from "./system.ts";

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
class GoModule {
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

// By itself V8 optimizes code that a single rendering runs, which costs half of a short program's time.
setFlagsFromString("--wasm-tiering-budget=20000000");
const { artifact, module } = workerData as ThreadStart;
const compiled = module ?? compileModule(moduleIn(artifact));
const go = new GoModule(compiled);
// Compiles the code, which happens on the first call, before it counts against a caller's time.
const rehearsal = { operation: "render", text: "name: {{ .a | upper }}", values: { a: "b" }, maxBytes: 100 };
go.ask(JSON.stringify(rehearsal));

const tell = (message: ThreadMessage): void => parentPort?.postMessage(message, []);
parentPort?.on("message", (question: string) => tell(answerOf(question)));
tell({ kind: "ready", module: module === undefined ? compiled : undefined, taskId: ownTaskId() });

/** Linux alone has the link. */
function ownTaskId(): string | undefined {
  try {
    return basename(readlinkSync("/proc/thread-self"));
  } catch {
    return undefined;
  }
}

function answerOf(question: string): ThreadAnswer {
  try {
    return { kind: "answer", text: go.ask(question), memoryBytes: go.memoryBytes };
  } catch (thrown) {
    if (go.ranOutOfMemory) return { kind: "out-of-memory" };
    return { kind: "crashed", message: `${messageOf(thrown)}: ${go.lastWords}` };
  }
}

/** Programs have it uncompressed; what is built from sources is compressed. */
function moduleIn(file: string): Uint8Array {
  const bytes = readFileSync(file);
  return file.endsWith(".br") ? brotliDecompressSync(bytes) : bytes;
}
