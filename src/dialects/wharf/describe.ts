import { formatAge, type Instant, parseInstant } from "#lib/base/index.ts";
import { type DescribeOptions, pairsOf, tableOf } from "#kernel/dialect/index.ts";
import { phaseOf, wordOf } from "./state.ts";
import type { Build, BuildStatus } from "./kinds.ts";

export function describeBuild(build: Build, { now }: DescribeOptions): string {
  const { metadata, spec, status = {} } = build;
  const { steps = [] } = status;
  const head: readonly (readonly [string, string])[] = [
    ["Name", metadata.name ?? ""],
    ["Namespace", metadata.namespace ?? "-"],
    ["Id", textOf(spec.buildId)],
    ["Project", textOf(spec.project)],
    ["Ref", textOf(spec.commit ?? spec.ref)],
    ["Stage", spec.stage],
    ["Environment", textOf(spec.environment)],
    ["Status", stateText(build)],
    ["Worker", textOf(status.workerId)],
    ...optional("Message", status.message),
    ["Scheduled", ageText(status.scheduledOn, now)],
    ["Started", ageText(status.startedOn, now)],
    ["Took", tookText(status.startedOn, status.finishedOn)],
    ...optional("Tests", testsText(status.testResults)),
  ];
  const rows = steps.map((step) => [
    `${step.stepId}`,
    status.stages?.find(({ stageId }) => stageId === step.stageId)?.name ?? "-",
    step.name,
    step.status,
    tookText(step.startedAt, step.finishedAt),
    textOf(step.exitCode ?? undefined),
    step.message ?? "",
  ]);
  const table = tableOf([["STEP", "STAGE", "NAME", "STATUS", "TOOK", "EXIT", "MESSAGE"], ...rows]);
  return [...pairsOf(head), "", ...(rows.length === 0 ? ["Steps:  none yet"] : table), ""].join("\n");
}

const textOf = (value: string | number | undefined): string => (value === undefined || value === "" ? "-" : `${value}`);

const optional = (name: string, text: string | undefined): readonly (readonly [string, string])[] =>
  text === undefined || text === "" ? [] : [[name, text]];

function stateText(build: Build): string {
  const { reason } = build.status ?? {};
  const word = phaseOf(build) === "Cancelling" ? `${wordOf(build)}, to be ended` : wordOf(build);
  return reason === undefined ? word : `${word} (${reason})`;
}

const ageText = (text: string | undefined, now: Instant): string => {
  const at = parseInstant(text ?? "");
  return at === undefined ? "-" : `${formatAge(now - at)} ago`;
};

const tookText = (from: string | null | undefined, to: string | null | undefined): string => {
  const [start, end] = [parseInstant(from ?? ""), parseInstant(to ?? "")];
  return start === undefined || end === undefined ? "-" : formatAge(end - start);
};

const testsText = (results: BuildStatus["testResults"]): string | undefined =>
  results === undefined
    ? undefined
    : `${results.passed ?? 0} passed, ${results.failed ?? 0} failed, ${results.skipped ?? 0} skipped`;
