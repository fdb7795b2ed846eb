import { codeOf, isJsonObject, type JsonValue } from "#lib/base/index.ts";
import { boundedText } from "#kernel/doors/index.ts";
import { refuse, wantsIndent } from "../http/problem.ts";
import { type RestContext, sendJson, uintOf } from "../http/rest-api.ts";
import { type Body, sendStream } from "../http/streamed-answer.ts";
import type { Inserted } from "../log-store/build-log.ts";
import type { LogStore } from "../log-store/log-store.ts";
import type { NewLine, StoredLine } from "../log-store/record.ts";
import { lineFramesType } from "../worker-api/line-frames.ts";
import { buildOf, takenFor } from "./build-of.ts";
import { eventStream } from "./event-stream.ts";
import { lineJson, readLine } from "./line-json.ts";
import type { Api, ResultsApiParts } from "./parts.ts";
import { receivedFrames } from "./received-frames.ts";
import { receivedLines } from "./received-lines.ts";

const longestBody = 25 * 1024 * 1024;

/** Routes for lines; those beyond the original API add many lines at once, cursors per step, lists by step or as
 * NDJSON, and following. `PUT` stores numbered lines once; `POST` stores an unnumbered line or sets a status. */
export function addLogRoutes(api: Api, parts: ResultsApiParts): void {
  const path = "/api/build/:buildId";
  api.get(`${path}/log`, (context) => sendLines(context, parts));
  // Repeated unnumbered lines are different lines.
  api.post(`${path}/log`, async (context) => {
    const buildId = buildOf(context, parts);
    const body = await readBody(context);
    // Released clients set a build's status here as well.
    if (isJsonObject(body) && typeof body["status"] === "string" && body["status"] !== "")
      await parts.builds.tellStatus(buildId, body["status"]);
    else await insert(context, parts, [{ ...lineIn(body), stepId: 0, workerLogId: 0 }]);
    return context.body(null, 201);
  });
  api.put(`${path}/log`, async (context) => {
    buildOf(context, parts);
    return sendJson(context, await insert(context, parts, [lineIn(await readBody(context))]));
  });
  api.put(`${path}/logs`, (context) => takeLines(context, parts));
  api.get(`${path}/log/cursor`, async (context) => {
    const buildId = buildOf(context, parts);
    const { logs } = await parts.stores.open();
    const cursors = await logs.cursors(buildId);
    return sendJson(
      context,
      cursors.map(({ stepId, lastWorkerLogId }) => ({ workerStepId: stepId, lastWorkerLogId })),
    );
  });
  api.get(`${path}/stream`, (context) => sendEvents(context, parts));
}

/** A JSON array or NDJSON, streamed. */
async function sendLines(context: RestContext, parts: ResultsApiParts): Promise<Response> {
  const buildId = buildOf(context, parts);
  const [after, limit] = [uintIn(context, "after"), uintIn(context, "limit")];
  const stepId = uintIn(context, "stepId");
  const isLines = (context.req.header("accept") ?? "").includes("application/x-ndjson");
  const isIndented = !isLines && wantsIndent(context.req.url, context.req.header("user-agent"));
  const { logs } = await parts.stores.open();
  const pages = stepId === undefined ? linesOf(logs, buildId, after) : logs.step(buildId, stepId, after);
  const body: Body = async function* () {
    let left = limit === undefined || limit === 0 ? Number.POSITIVE_INFINITY : limit;
    let before = isLines ? "" : "[";
    for await (const page of pages) {
      let text = "";
      for (const line of page.slice(0, left)) {
        const json = JSON.stringify(lineJson(buildId, line), undefined, isIndented ? 2 : undefined);
        text += isLines ? `${json}\n` : `${before}${isIndented ? `\n  ${json.replaceAll("\n", "\n  ")}` : json}`;
        before = ",";
      }
      left -= page.length;
      if (text !== "") yield Buffer.from(text);
      if (left <= 0) break;
    }
    if (!isLines) yield Buffer.from(`${before === "[" ? "[" : ""}${isIndented && before !== "[" ? "\n" : ""}]`);
  };
  const type = isLines ? "application/x-ndjson" : "application/json; charset=utf-8";
  return await sendStream(context, { headers: { "content-type": type }, body });
}

async function* linesOf(logs: LogStore, buildId: number, after = 0): AsyncGenerator<readonly StoredLine[], void> {
  for await (const { lines } of logs.lines(buildId, { after })) yield lines;
}

/** Stores many lines as they arrive. `durable=1` answers when they are synced. Lines that cannot be kept are counted,
 * with the first reason. */
async function takeLines(context: RestContext, parts: ResultsApiParts): Promise<Response> {
  const isDurable = ["1", "true"].includes(context.req.query("durable") ?? "");
  const sum = { inserted: 0, duplicates: 0, skipped: 0 };
  let first: string | undefined;
  const { logs, buildId } = await takenFor(context, parts);
  const intake = await stored(logs.intake(buildId));
  const received = context.req.header("content-type") === lineFramesType ? receivedFrames : receivedLines;
  const take = async (): Promise<void> => {
    for await (const { lines, skipped, problem } of received(context.env.incoming)) {
      const { inserted, duplicates, refused } = await intake.insert(lines);
      sum.inserted += inserted;
      sum.duplicates += duplicates;
      sum.skipped += skipped + (refused?.count ?? 0);
      first ??= problem ?? refused?.reason.message;
    }
    if (isDurable) await intake.flushed();
    else await intake.written();
  };
  await stored(take()).finally(() => intake.close());
  return sendJson(context, { ...sum, ...(first === undefined ? {} : { problem: first }) });
}

async function sendEvents(context: RestContext, parts: ResultsApiParts): Promise<Response> {
  const buildId = buildOf(context, parts);
  const known = context.req.header("last-event-id") ?? "";
  const after = known === "" ? uintIn(context, "after") : uintOf("Last-Event-ID", known);
  const { logs } = await parts.stores.open();
  const body: Body = async function* (signal) {
    // Subscribed first, so that an end in between is not missed.
    const over = new AbortController();
    const cancel = parts.builds.onOver(buildId, () => over.abort());
    if (parts.builds.isOver(buildId)) over.abort();
    try {
      yield* eventStream(buildId, logs.lines(buildId, { after, signal, until: over.signal }), parts.clock);
    } finally {
      cancel();
    }
  };
  const headers = {
    "content-type": "text/event-stream",
    "cache-control": "no-store",
    // Disables buffering in nginx.
    "x-accel-buffering": "no",
  };
  return await sendStream(context, { headers, body });
}

async function insert(context: RestContext, parts: ResultsApiParts, lines: readonly NewLine[]): Promise<Inserted> {
  const { logs, buildId } = await takenFor(context, parts);
  const intake = await stored(logs.intake(buildId));
  const take = async (): Promise<Inserted> => {
    const inserted = await intake.insert(lines);
    if (inserted.refused !== undefined) throw inserted.refused.reason;
    await intake.written();
    return inserted;
  };
  return await stored(take()).finally(() => intake.close());
}

async function stored<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (thrown) {
    const [code, message] = [codeOf(thrown), thrown instanceof Error ? thrown.message : ""];
    if (code === "ECONNRESET" || code === "ERR_STREAM_PREMATURE_CLOSE")
      throw refuse("unexpected-body-read-error", message, { cause: thrown });
    if (code === "log-removed") throw refuse("record-not-found", message, { cause: thrown });
    if (code === "log-gaps" || code === "log-steps") throw refuse("conflict", message, { cause: thrown });
    if (code === "log-lost" || code === "log-closed") throw refuse("service-unavailable", message, { cause: thrown });
    throw thrown;
  }
}

function lineIn(body: JsonValue): NewLine {
  const read = readLine(body);
  if ("line" in read) return read.line;
  throw refuse("invalid-param", read.problem, { errors: [read.problem] });
}

async function readBody(context: RestContext): Promise<JsonValue> {
  const text = await boundedText(context.env.incoming, longestBody);
  try {
    return JSON.parse(text) as JsonValue;
  } catch (cause) {
    throw refuse("invalid-param", "expected a JSON object", { cause });
  }
}

function uintIn(context: RestContext, name: string): number | undefined {
  const text = context.req.query(name) ?? "";
  return text === "" ? undefined : uintOf(name, text);
}
