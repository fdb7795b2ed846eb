// The thread that reads large YAML bodies (`yaml-reader.ts`): one answer per question, in order.
import { readlinkSync } from "node:fs";
import { setPriority } from "node:os";
import { basename } from "node:path";
import { parentPort } from "node:worker_threads";
import { ApiError } from "#kernel/model/index.ts";
import type { YamlAnswer, YamlQuestion } from "./yaml-reader.ts";
import { type YamlAsJson, yamlToJson } from "./yaml-body.ts";

/** A third of the processor time of normal priority. */
const lowPriority = 5;

yieldProcessor();
parentPort?.on("message", ({ bytes, limits }: YamlQuestion) => {
  const answer = answerOf(() => yamlToJson(bytes, limits));
  parentPort?.postMessage(answer, []);
});

/** Errors lose their class between threads, so refusals are sent as data. A bug ends the thread. */
function answerOf(read: () => YamlAsJson | undefined): YamlAnswer {
  try {
    return { document: read() };
  } catch (thrown) {
    if (!(thrown instanceof ApiError)) throw thrown;
    return { refused: thrown.reason, message: thrown.message };
  }
}

/** Lowers the priority of this thread. Only Linux has one per thread, identified by this link. */
function yieldProcessor(): void {
  try {
    setPriority(Number(basename(readlinkSync("/proc/thread-self"))), lowPriority);
  } catch {
    // Not Linux, or no /proc: normal priority.
  }
}
