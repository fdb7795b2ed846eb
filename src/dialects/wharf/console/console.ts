import { type Clock, type Millis, oneLine, sleep } from "#lib/base/index.ts";
import { tableOf } from "#kernel/dialect/index.ts";
import { linesOf } from "../results/log-line.ts";
import type { Results } from "../results/results.ts";
import { eventText, jsonLine, labelOf } from "./event-text.ts";
import { followBuild, lastLines } from "./follow-build.ts";
import { type Look, painted, spanOf } from "./look.ts";

export interface ConsoleOutput {
  write(text: string): void;
  readonly backlog: number;
}

/** Output is dropped if the reader lags behind this far. */
const mostBacklog = 8 * 1024 * 1024;

const lookMs: Millis = 50;

const mostLooks = 200;

/** Shows a build without ever waiting for the reader: excess output is dropped with one notice. Resolves, after the
 * freeze, with whether everything was read. At the end, it waits up to 10 s for a stalled reader. */
export async function showBuild(results: Results, look: Look, output: ConsoleOutput, clock: Clock): Promise<boolean> {
  const textOf = eventText(() => results.build, look);
  let isTold = false;
  for await (const event of followBuild(results)) {
    if (look.isQuiet) continue;
    if (output.backlog <= mostBacklog) {
      const text = textOf(event);
      if (text !== "") output.write(text);
    } else if (!isTold) {
      isTold = true;
      output.write(notice(results.directory, look));
    }
  }
  output.write(await endText(results, look));
  return await isTaken(output, clock);
}

function notice(directory: string, { form }: Look): string {
  const text = `output is read too slowly and partly left out here; all of it is in ${directory}`;
  return form === "json" ? `${JSON.stringify({ type: "notice", msg: text })}\n` : `slipway: ${text}\n`;
}

async function isTaken(output: ConsoleOutput, clock: Clock): Promise<boolean> {
  let [least, looks] = [output.backlog, 0];
  while (output.backlog > 0) {
    await sleep(clock, lookMs);
    looks += 1;
    if (output.backlog < least) [least, looks] = [output.backlog, 0];
    else if (looks >= mostLooks) return false;
  }
  return true;
}

const tailLines = 20;

const longestTailLine = 2_000;

async function endText(results: Results, look: Look): Promise<string> {
  const { build } = results;
  const { status, reason, message } = build;
  if (look.form === "json") {
    const why = { ...(reason === undefined ? {} : { reason }), ...(message === undefined ? {} : { message }) };
    const { buildId, finishedAt } = build;
    return jsonLine({ t: finishedAt, type: "build", buildId, msg: status, ...why, results: results.directory });
  }
  const tails = await Promise.all(
    results.steps
      .filter(({ stepId }) => build.steps.find((step) => step.stepId === stepId)?.status === "Failed")
      .map((step) => tailText(step, results, look)),
  );
  const why = message === undefined ? "" : `: ${oneLine(message)}`;
  const took = spanOf(build.startedAt, build.finishedAt);
  return [
    "",
    ...tableLines(results, look),
    ...tails.flat(),
    "",
    `build ${build.buildId} ${painted(status, look.paint)} in ${took}${why}`,
    `results: ${results.directory}`,
    "",
  ].join("\n");
}

function tableLines({ build }: Results, { paint }: Look): readonly string[] {
  const rows = build.steps.map((step) => {
    const stage = build.stages.find(({ stageId }) => stageId === step.stageId)?.name ?? "";
    const span = spanOf(step.startedAt, step.finishedAt);
    return [stage, step.name, step.status, span, step.exitCode === null ? "-" : `${step.exitCode}`];
  });
  const [head = "", ...lines] = tableOf([["STAGE", "STEP", "STATUS", "DURATION", "EXIT CODE"], ...rows]);
  return [
    paint.dim(head),
    ...lines.map((line, index) => {
      const status = build.steps[index]?.status ?? "None";
      const at = line.lastIndexOf(status);
      return line.slice(0, at) + painted(status, paint) + line.slice(at + status.length);
    }),
  ];
}

async function tailText(
  step: Results["steps"][number],
  { build }: Results,
  { paint }: Look,
): Promise<readonly string[]> {
  const record = build.steps.find(({ stepId }) => stepId === step.stepId);
  const name = record === undefined ? "" : labelOf(record, build);
  const batches = await lastLines(step, tailLines);
  const lines = batches.flatMap((batch) => [...linesOf(batch)].map(({ message }) => message));
  if (lines.length === 0) return ["", paint.bold(`${name} has printed nothing`)];
  const shown = lines.map((line) => `  ${line.length > longestTailLine ? `${line.slice(0, longestTailLine)}…` : line}`);
  return ["", paint.bold(`last lines of ${name}:`), ...shown];
}
