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

// CronJobs as they are stored: Kubernetes' defaults and validation of batch/v1. What makes the Jobs is in #kernel/workloads.

const at: FieldPath = ["spec"];
/** The name of a Job is that of its CronJob, a dash and up to ten digits of minutes, and must be a label (63). */
const longestName = 52;

/**
 * Pods of the template get their defaults, the Job around them does not, as in Kubernetes: its own come when it is created, from the
 * server as it is then.
 */
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

/** Numbers, words, and a Job that could be created as it stands there. */
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
  // Judged as a Job would be, so that the first one does not fail at night.
  const job = objectAt(spec, "jobTemplate") ?? {};
  const here = [...at, "jobTemplate"];
  checkTemplateMetadata(job, here, found);
  const jobSpec = objectAt(job, "spec") ?? {};
  checkJobRules(jobSpec, [...here, "spec"], found);
  // Every Job of the schedule would select the Pods of all others.
  if (isTrueAt(jobSpec, "manualSelector"))
    report(fieldError.notSupported([...here, "spec", "manualSelector"], true, ["nil", "false"]));
};

/** When it is due. A zone that the machine has lost since is told by an event, not by refusing every change. */
const scheduleRule: Rule = (cron, { errors }) => {
  const schedule = textAt(cron, "spec", "schedule") ?? "";
  const parsed = parseCron(schedule);
  if (schedule === "") errors.push(fieldError.required([...at, "schedule"]));
  else if (!parsed.ok) errors.push(fieldError.invalid([...at, "schedule"], schedule, parsed.error));
  // Empty is not absent: there is no zone without a name.
  const zone = valueAt(cron, "spec", "timeZone");
  const found = typeof zone === "string" ? timeZone(zone) : undefined;
  if (found !== undefined && !found.ok) errors.push(fieldError.invalid([...at, "timeZone"], zone, found.error));
};

/** Refused when it is created rather than at the first time it is due. */
const nameRule: Rule = (cron, { errors }) => {
  const name = textAt(cron, "metadata", "name") ?? "";
  if (name.length > longestName)
    errors.push(fieldError.invalid("metadata.name", name, `must be no more than ${longestName} characters`));
};

/** Status starts empty. Nothing of a CronJob is immutable: the Jobs there are keep what they were made with. */
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
