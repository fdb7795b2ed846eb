import { refuse } from "../http/problem.ts";
import { createRestApi, type RestContext, sendJson, uintOf } from "../http/rest-api.ts";
import { type Body, sendFile, sendStream } from "../http/streamed-answer.ts";
import { followLogs } from "../results/follow-logs.ts";
import { linesOf, type LogBatch } from "../results/log-line.ts";
import type { Results, StepResults } from "../results/results.ts";
import { LogCursor } from "../results/log-cursor.ts";
import type { StepLog } from "../results/step-log.ts";
import { getOrAdd, type Logger } from "#lib/base/index.ts";
import { join } from "node:path";
import { fileNameOf } from "../results/artifact-name.ts";
import type { Artifact } from "../results/build-document.ts";
import { statusNumbers } from "../results/status-numbers.ts";

interface WorkerRestOptions {
  readonly log: Logger;
  readonly origins?: readonly string[];
  readonly cancel?: ((reason: string | undefined) => void) | undefined;
}

const longestBody = 64 * 1024;

/** Nothing is cached, and no file stays open between requests. */
export function createWorkerRest(results: Results, { log, origins = [], cancel }: WorkerRestOptions) {
  const api = createRestApi({ log, origins });
  const counts = lineCounts();
  const linesOf = ({ log: stepLog }: StepResults) => counts(stepLog);

  api.get("/api/build", async (context) => {
    const { owner: _, ...build } = results.build;
    const logs = await Promise.all(
      results.steps.map(async (step) => ({
        stepId: step.stepId,
        lines: await linesOf(step),
        bytes: step.log.bytes,
      })),
    );
    return sendJson(context, { ...build, logs });
  });

  api.get("/api/build/step", async (context) => {
    const { stages, steps } = results.build;
    const list = steps.map(async ({ stageId, ...step }) => {
      const found = results.steps.find(({ stepId }) => stepId === step.stepId);
      return {
        stepId: step.stepId,
        parentId: stageId,
        stage: stages.find((stage) => stage.stageId === stageId)?.name ?? "",
        name: step.name,
        type: step.type,
        status: step.status,
        statusId: statusNumbers[step.status].worker,
        exitCode: step.exitCode,
        startedAt: step.startedAt,
        finishedAt: step.finishedAt,
        logLines: found === undefined ? 0 : await linesOf(found),
      };
    });
    return sendJson(context, await Promise.all(list));
  });

  api.get("/api/build/step/:id/log", (context) => sendLog(context, results, stepOf(results, context)));

  api.get("/api/artifact", (context) => {
    const asked = context.req.query("stepId");
    const stepId = asked === undefined || asked === "" ? undefined : uintOf("stepId", asked);
    const steps = results.steps.filter((step) => stepId === undefined || step.stepId === stepId);
    return sendJson(context, steps.flatMap(({ artifacts }) => artifacts).map(artifactOf));
  });

  api.get("/api/artifact/:id/download", (context) => {
    const id = uintOf("artifactId", context.req.param("id"));
    for (const { directory, artifacts } of results.steps) {
      const artifact = artifacts.find(({ artifactId }) => artifactId === id);
      if (artifact === undefined) continue;
      const { path, size, contentType, sha256, name } = artifact;
      return sendFile(context, { path: join(directory, path), size, contentType, sha256, name: lastOf(name) });
    }
    throw refuse("record-not-found", `artifact ${id} does not exist`);
  });

  // 202: the build's status shows what becomes of it.
  api.post("/api/build/cancel", async (context) => {
    const reason = await reasonOf(context);
    if (!results.frozen) cancel?.(reason);
    return sendJson(context, { status: results.build.status }, 202);
  });
  return api;
}

const artifactOf = ({ artifactId, stepId, name, size, sha256, contentType, testResults }: Artifact): object => ({
  artifactId,
  stepId,
  name,
  fileName: fileNameOf(name),
  size,
  sha256: sha256 ?? "",
  contentType,
  testResults,
});

const lastOf = (name: string): string => name.split("/").findLast((part) => part !== "") ?? name;

function stepOf(results: Results, context: RestContext): StepResults {
  const id = uintOf("stepId", context.req.param("id") ?? "");
  const step = results.steps.find(({ stepId }) => stepId === id);
  if (step === undefined) throw refuse("record-not-found", `step ${id} does not exist`);
  return step;
}

async function reasonOf(context: RestContext): Promise<string | undefined> {
  if (Number(context.req.header("content-length") ?? 0) > longestBody)
    throw refuse("too-large", `the body: expected at most ${longestBody} bytes`);
  const text = await context.req.text();
  if (text === "") return undefined;
  try {
    const body: unknown = JSON.parse(text);
    if (typeof body !== "object" || body === null) throw new Error("it is no object");
    const { reason } = body as { readonly reason?: unknown };
    if (reason !== undefined && typeof reason !== "string") throw new Error("reason is no text");
    return reason;
  } catch (cause) {
    throw refuse("unexpected-body-read-error", 'the body: expected nothing or {"reason": "…"}', { cause });
  }
}

const pieceBytes = 256 * 1024;

function lineCounts(): (log: StepLog) => Promise<number> {
  const counted = new WeakMap<StepLog, Promise<number>>();
  return async (log) => {
    if (!Number.isNaN(log.lines)) return log.lines;
    return await getOrAdd(counted, log, () => count(log));
  };
}

async function count(log: StepLog): Promise<number> {
  const cursor = new LogCursor(log);
  let lines = 0;
  try {
    for (let batch = await cursor.next(pieceBytes); batch !== undefined; batch = await cursor.next(pieceBytes))
      lines += batch.lines;
    return lines;
  } finally {
    await cursor.close();
  }
}

const plainText = "text/plain; charset=utf-8";

/** The log of a step as text: messages, or lines as stored with `timestamps=1`, of which ranges can be requested;
 * `follow=1` continues until the results are frozen; `after=ID` starts behind that line. */
async function sendLog(context: RestContext, results: Results, { stepId, log }: StepResults): Promise<Response> {
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
