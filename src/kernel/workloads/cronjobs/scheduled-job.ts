import { formatTime, type Instant } from "#lib/base/index.ts";
import { controllerReference, type Stored } from "#kernel/model/index.ts";
import { timeZone } from "#lib/text/index.ts";
import { type CronJobObject, scheduledAnnotation } from "../cron-job-types.ts";
import type { JobObject } from "../job-types.ts";

/** The Job's name for a scheduled minute since 1970: `backup-29450880`. Fixed, so no time gets two Jobs. */
export const jobNameFor = ({ metadata }: CronJobObject, at: Instant): string =>
  `${metadata.name ?? ""}-${Math.floor(at / 60_000)}`;

export function scheduledJob(cron: Stored<CronJobObject>, at: Instant): JobObject {
  const { metadata: template, spec } = cron.spec.jobTemplate;
  const { namespace = "" } = cron.metadata;
  return {
    apiVersion: "batch/v1",
    kind: "Job",
    metadata: {
      name: jobNameFor(cron, at),
      namespace,
      ...(template?.labels === undefined ? {} : { labels: template.labels }),
      annotations: { ...template?.annotations, [scheduledAnnotation]: wallTime(at, cron.spec.timeZone) },
      ownerReferences: [controllerReference(cron)],
    },
    spec,
  };
}

/** RFC 3339 with the offset of the time zone: `2026-03-29T03:30:00+02:00`; UTC if the CronJob names none. */
function wallTime(at: Instant, name: string | undefined): string {
  const zone = name === undefined ? undefined : timeZone(name);
  const offset = zone?.ok === true ? zone.value.offsetAt(at) : 0;
  if (offset === 0) return formatTime(at);
  const minutes = Math.abs(offset) / 60_000;
  const two = (value: number) => String(Math.floor(value)).padStart(2, "0");
  const suffix = `${offset < 0 ? "-" : "+"}${two(minutes / 60)}:${two(minutes % 60)}`;
  return formatTime(at + offset).replace("Z", suffix);
}
