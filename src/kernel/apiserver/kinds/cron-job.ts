import { type FieldPath, type JsonObject, isTrueAt, objectAt, textAt, valueAt } from "#lib/base/index.ts";
import { fieldError } from "#lib/schema/index.ts";
import { parseCron, timeZone } from "#lib/text/index.ts";
import { CronJob } from "#kernel/model/index.ts";
import {
  checkJobRules,
  checkNotNegative,
  checkOneOf,
  checkTemplateMetadata,
  definitionNames,
  mapMember,
  type Report,
  withAbsent,
  withPodSpecDefaults,
  withUnset,
} from "#kernel/specs/index.ts";
import { cronJobTable } from "../tables/cron-job.ts";
import type { BuiltIn, Rule } from "./built-in.ts";

// CronJobs as stored: Kubernetes' defaults and validation of batch/v1. The controller is in #kernel/workloads.

const at: FieldPath = ["spec"];
/** A Job is named after its CronJob, a dash and up to ten digits, within 63 characters. */
const longestName = 52;

/** The Pod template gets its defaults, the Job none until it is created, as in Kubernetes. */
const withCronJobDefaults = (cron: JsonObject): JsonObject =>
  mapMember(cron, "spec", (spec) =>
    mapMember(
      withAbsent(withUnset(spec, { concurrencyPolicy: "Allow" }), {
        suspend: false,
        successfulJobsHistoryLimit: 3,
        failedJobsHistoryLimit: 1,
      }),
      "jobTemplate",
      (job) =>
        mapMember(job, "spec", (jobSpec) =>
          mapMember(jobSpec, "template", (template) => mapMember(template, "spec", withPodSpecDefaults)),
        ),
    ),
  );

const cronJobRule: Rule = (cron, found) => {
  const spec = objectAt(cron, "spec") ?? {};
  const report: Report = (error) => void found.errors.push(error);
  checkNotNegative(
    spec,
    ["startingDeadlineSeconds", "successfulJobsHistoryLimit", "failedJobsHistoryLimit"],
    at,
    report,
  );
  checkOneOf(spec, "concurrencyPolicy", ["Allow", "Forbid", "Replace"], at, report);
  // Validated like a Job, so that the first one does not fail at night.
  const job = objectAt(spec, "jobTemplate") ?? {};
  const here = [...at, "jobTemplate"];
  checkTemplateMetadata(job, here, found);
  const jobSpec = objectAt(job, "spec") ?? {};
  checkJobRules(jobSpec, [...here, "spec"], found);
  // All Jobs would select each other's Pods.
  if (isTrueAt(jobSpec, "manualSelector"))
    report(fieldError.notSupported([...here, "spec", "manualSelector"], true, ["nil", "false"]));
};

/** A time zone that the machine no longer has causes an event, not a refusal. */
const scheduleRule: Rule = (cron, { errors }) => {
  const schedule = textAt(cron, "spec", "schedule") ?? "";
  const parsed = parseCron(schedule);
  if (schedule === "") errors.push(fieldError.required([...at, "schedule"]));
  else if (!parsed.ok) errors.push(fieldError.invalid([...at, "schedule"], schedule, parsed.error));
  // An empty zone is invalid.
  const zone = valueAt(cron, "spec", "timeZone");
  const found = typeof zone === "string" ? timeZone(zone) : undefined;
  if (found !== undefined && !found.ok) errors.push(fieldError.invalid([...at, "timeZone"], zone, found.error));
};

const nameRule: Rule = (cron, { errors }) => {
  const name = textAt(cron, "metadata", "name") ?? "";
  if (name.length > longestName)
    errors.push(fieldError.invalid("metadata.name", name, `must be no more than ${longestName} characters`));
};

export const cronJobKind: BuiltIn = {
  type: CronJob,
  definition: definitionNames.cronJob,
  table: cronJobTable,
  subresources: ["status"],
  hasGeneration: true,
  defaults: withCronJobDefaults,
  prepareForCreate: (cron) => (valueAt(cron, "status") === undefined ? { ...cron, status: {} } : cron),
  rules: [nameRule, cronJobRule, scheduleRule],
};
