// Program of a thread with one instance of the Go module.
import { readFileSync, readlinkSync } from "node:fs";
import { basename } from "node:path";
import { setFlagsFromString } from "node:v8";
import { parentPort, workerData } from "node:worker_threads";
import { brotliDecompressSync } from "node:zlib";
import { messageOf } from "#lib/base/index.ts";
import { GoModule } from "./go-module.ts";
import { compileModule } from "./web-assembly.ts";
import type { ThreadAnswer, ThreadMessage, ThreadStart } from "./protocol.ts";

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
