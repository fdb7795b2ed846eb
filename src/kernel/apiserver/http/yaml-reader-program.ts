// The program of the thread that reads large YAML bodies (`yaml-reader.ts`): one question, one answer, in their order.
import { parentPort } from "node:worker_threads";
import { ApiError } from "#kernel/model/index.ts";
import type { YamlAnswer, YamlQuestion } from "./yaml-reader.ts";
import { type YamlAsJson, yamlToJson } from "./yaml-body.ts";

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
