// Labels have a common width, so that parallel steps can be told apart.

import { formatInstant, oneLine } from "#lib/base/index.ts";
import type { BuildDocument, StepRecord, StepStatus } from "../results/build-document.ts";
import { linesOf, type LogTime } from "../results/log-line.ts";
import type { BuildEvent } from "./follow-build.ts";
import { type Look, painted, spanOf } from "./look.ts";

const widestLabel = 40;

export const labelOf = ({ name, stageId }: StepRecord, { stages }: Pick<BuildDocument, "stages">): string =>
  oneLine(`${stages.find((stage) => stage.stageId === stageId)?.name ?? ""}/${name}`);

/** `build` is called for each event, because the document changes. */
export function eventText(build: () => BuildDocument, look: Look): (event: BuildEvent) => string {
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

export const jsonLine = (value: object): string => `${JSON.stringify(value)}\n`;

function timeText({ seconds, nanos }: LogTime): string {
  const whole = formatInstant(seconds * 1000).replace(/(?:\.\d+)?Z$/, "");
  const digits = `${nanos}`.padStart(9, "0").replace(/(?:000)+$/, "");
  return digits === "" ? `${whole}Z` : `${whole}.${digits}Z`;
}
