import { type Instant, parseInstant } from "#lib/base/index.ts";
import type { DeliveryRecord, InsightSpec, InsightStatus } from "../schema/insight.ts";

// Pure: how fast and how safely an application is delivered, from the ends of its runs.

const day = 24 * 60 * 60 * 1000;
export const window = 90 * day;
const mostRecords = 1000;

/** Known and new records of the window, oldest first, each run once. */
export function withinWindow(
  known: readonly DeliveryRecord[],
  found: readonly DeliveryRecord[],
  now: Instant,
): readonly DeliveryRecord[] {
  const byRun = new Map([...found, ...known].map((record) => [`${record.revision} ${record.endTime}`, record]));
  return [...byRun.values()]
    .filter(({ endTime }) => timeOf(endTime) > now - window)
    .toSorted((a, b) => timeOf(a.endTime) - timeOf(b.endTime))
    .slice(-mostRecords);
}

const timeOf = (text: string): Instant => parseInstant(text) ?? 0;

type Measures = Pick<
  InsightStatus,
  "window" | "leadTimeSeconds" | "deploysPerWeek" | "mttrSeconds" | "changeFailureRate" | "deliveries"
>;

/** A run that follows a failed one ends the repair if it succeeds. */
export function measure(records: readonly DeliveryRecord[], spec: InsightSpec, now: Instant): Measures {
  const good = records.filter(({ succeeded }) => succeeded);
  const leads = good.map(({ createdTime, endTime }) => seconds(timeOf(endTime) - timeOf(createdTime)));
  const repairs = repairTimes(records);
  const first = records[0];
  const weeks = first === undefined ? 1 : Math.max(1, (now - timeOf(first.endTime)) / (7 * day));
  return {
    window: "90d",
    deliveries: records.length,
    ...(spec.leadTime === "disabled" || leads.length === 0 ? {} : { leadTimeSeconds: quantiles(leads) }),
    ...(spec.frequency === "disabled" ? {} : { deploysPerWeek: rounded(good.length / weeks) }),
    ...(spec.mttr === "disabled" || repairs.length === 0 ? {} : { mttrSeconds: quantiles(repairs) }),
    ...(records.length === 0 ? {} : { changeFailureRate: rounded(1 - good.length / records.length) }),
  };
}

function repairTimes(records: readonly DeliveryRecord[]): readonly number[] {
  const times: number[] = [];
  let broken: Instant | undefined;
  for (const { endTime, succeeded } of records) {
    if (!succeeded) broken ??= timeOf(endTime);
    else if (broken !== undefined) {
      times.push(seconds(timeOf(endTime) - broken));
      broken = undefined;
    }
  }
  return times;
}

const seconds = (millis: number): number => Math.max(0, Math.round(millis / 1000));
const rounded = (value: number): number => Math.round(value * 1000) / 1000;

function quantiles(values: readonly number[]) {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number): number => sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1)] ?? 0;
  return { p50: at(0.5), p90: at(0.9) };
}
