// Labels have a common width, so that parallel steps can be told apart.

import { type Clock, type Millis, oneLine, sleep, formatInstant } from "#lib/base/index.ts";
import { tableOf } from "#kernel/dialect/index.ts";
import { linesOf, type LogTime } from "../results/log-line.ts";
import type { Results } from "../results/results.ts";
import { followBuild, lastLines, type BuildEvent } from "./follow-build.ts";
import { type Look, painted, spanOf } from "./look.ts";
import type { BuildDocument, StepRecord, StepStatus } from "../results/build-document.ts";

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

const widestLabel = 40;

const labelOf = ({ name, stageId }: StepRecord, { stages }: Pick<BuildDocument, "stages">): string =>
  oneLine(`${stages.find((stage) => stage.stageId === stageId)?.name ?? ""}/${name}`);

/** `build` is called for each event, because the document changes. */
function eventText(build: () => BuildDocument, look: Look): (event: BuildEvent) => string {
  if (look.form === "json") return jsonText;
  const { steps, stages } = build();
  const labels = new Map(steps.map((step) => [step.stepId, cut(labelOf(step, { stages }))]));
  const width = Math.max(0, ...[...labels.values()].map(({ length }) => length));
  const bar = look.unicode ? "│" : "|";
  const prefixes = new Map(
    [...labels].map(([stepId, label], index) => {
      return [stepId, `${look.paint.label(index, label.padEnd(width))} ${look.paint.dim(bar)} `];
    }),
  );
  return (event) => {
    const prefix = prefixes.get(event.stepId) ?? "";
    if (event.type === "log") return logText(event, prefix, look);
    const step = build().steps.find(({ stepId }) => stepId === event.stepId);
    const text = event.type === "artifact" ? `artifact ${oneLine(event.artifact.name)}` : wordsOf(event, step, look);
    if (text === undefined) return "";
    const time = event.type === "status" && look.hasTimestamps ? `${event.update.timestamp} ` : "";
    return `${prefix}${look.paint.dim(time)}${look.paint.dim("*")} ${text}\n`;
  };
}

const cut = (label: string): string => (label.length <= widestLabel ? label : `${label.slice(0, widestLabel - 1)}~`);

function wordsOf(
  { update }: Extract<BuildEvent, { type: "status" }>,
  step: StepRecord | undefined,
  { paint }: Look,
): string | undefined {
  const { status } = update;
  if (silent.includes(status)) return undefined;
  if (step === undefined || step.status !== status) return painted(status, paint);
  const why = step.message === undefined ? "" : `: ${oneLine(step.message)}`;
  const time = step.finishedAt === null ? "" : paint.dim(` (${spanOf(step.startedAt, step.finishedAt)})`);
  return `${painted(status, paint)}${why}${time}`;
}

const silent: readonly StepStatus[] = ["None", "Scheduling"];

function logText({ batch }: Extract<BuildEvent, { type: "log" }>, prefix: string, look: Look): string {
  const lines: string[] = [];
  for (const { time, message } of linesOf(batch)) {
    const stamp = look.hasTimestamps && time !== undefined ? look.paint.dim(`${timeText(time)} `) : "";
    const reset = message.includes("\u001b[") && look.form === "pretty" ? "\u001b[0m" : "";
    lines.push(`${prefix}${stamp}${message}${reset}\n`);
  }
  return lines.join("");
}

function jsonText(event: BuildEvent): string {
  const { type, stepId } = event;
  if (event.type === "status") {
    const { timestamp, status } = event.update;
    return jsonLine({ t: timestamp, type, stepId, msg: status });
  }
  if (event.type === "artifact") {
    const { artifactId, name, size } = event.artifact;
    return jsonLine({ type, stepId, artifactId, msg: name, size });
  }
  const lines: string[] = [];
  for (const { id, time, message } of linesOf(event.batch))
    lines.push(
      jsonLine({ ...(time === undefined ? {} : { t: timeText(time) }), type, stepId, logId: id, msg: message }),
    );
  return lines.join("");
}

const jsonLine = (value: object): string => `${JSON.stringify(value)}\n`;

function timeText({ seconds, nanos }: LogTime): string {
  const whole = formatInstant(seconds * 1000).replace(/(?:\.\d+)?Z$/, "");
  const digits = `${nanos}`.padStart(9, "0").replace(/(?:000)+$/, "");
  return digits === "" ? `${whole}Z` : `${whole}.${digits}Z`;
}
