import { refuse } from "../http/problem.ts";
import { type RestContext, uintOf } from "../http/rest-api.ts";
import { type Body, sendFile, sendStream } from "../http/streamed-answer.ts";
import { followLogs } from "../results/follow-logs.ts";
import { type LogBatch, linesOf } from "../results/log-line.ts";
import type { Results, StepResults } from "../results/results.ts";

const plainText = "text/plain; charset=utf-8";

/**
 * The log of a step as text: messages, or lines as stored with `timestamps=1`, of which ranges can be requested;
 * `follow=1` continues until the results are frozen; `after=ID` starts behind that line.
 */
export async function sendLog(context: RestContext, results: Results, { stepId, log }: StepResults): Promise<Response> {
  const [isTimed, isFollowed] = [flagOf(context, "timestamps"), flagOf(context, "follow")];
  const asked = context.req.query("after") ?? "";
  const after = asked === "" ? 0 : uintOf("after", asked);
  if (isTimed && !isFollowed && after === 0 && log.bytes > 0)
    return await sendFile(context, {
      path: log.path,
      size: log.bytes,
      contentType: plainText,
      name: `step-${stepId}.log`,
    });
  const body: Body = async function* (signal) {
    const following = { stepIds: [stepId], after: new Map([[stepId, after]]), follow: isFollowed, signal };
    for await (const batch of followLogs(results, following)) yield isTimed ? batch.bytes : messagesOf(batch);
  };
  const headers = { "content-type": plainText, "x-content-type-options": "nosniff" };
  return await sendStream(context, { headers, body });
}

function messagesOf(batch: LogBatch): Buffer {
  let text = "";
  for (const { message } of linesOf(batch)) text += `${message}\n`;
  return Buffer.from(text);
}

function flagOf(context: RestContext, name: string): boolean {
  const value = context.req.query(name);
  if (value === undefined || value === "0" || value === "false") return false;
  if (value === "1" || value === "true" || value === "") return true;
  throw refuse("invalid-param", `${name}: expected 0 or 1, found ${JSON.stringify(value)}`);
}
