// The program of the thread that reads large YAML bodies (`yaml-reader.ts`): one question, one answer, in their order.
import { readlinkSync } from "node:fs";
import { setPriority } from "node:os";
import { basename } from "node:path";
import { parentPort } from "node:worker_threads";
import { ApiError } from "#kernel/model/index.ts";
import type { YamlAnswer, YamlQuestion } from "./yaml-reader.ts";
import { type YamlAsJson, yamlToJson } from "./yaml-body.ts";

/** A third of the time of a thread of ordinary priority, when both have work. */
const lowPriority = 5;

yieldProcessor();
parentPort?.on("message", ({ bytes, limits }: YamlQuestion) => {
  const answer = answerOf(() => yamlToJson(bytes, limits));
  parentPort?.postMessage(answer, []);
});

/** Errors lose their class on the way, so refusals go as what they say. A bug ends the thread, which its owner hears of. */
function answerOf(read: () => YamlAsJson | undefined): YamlAnswer {
  try {
    return { document: read() };
  } catch (thrown) {
    if (!(thrown instanceof ApiError)) throw thrown;
    return { refused: thrown.reason, message: thrown.message };
  }
}

/**
 * Whoever asks for little goes first, also where processors are few. Linux has a priority for each thread, which is named by the link; other
 * systems have no such link, and there nothing is changed.
 */
function yieldProcessor(): void {
  try {
    setPriority(Number(basename(readlinkSync("/proc/thread-self"))), lowPriority);
  } catch {
    // Not Linux, or without /proc: it works as fast as everybody else.
  }
}
