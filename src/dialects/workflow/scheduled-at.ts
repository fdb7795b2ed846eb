/** The scheduled time of a run, RFC 3339 in UTC; `schedule.time` in expressions. */
export const scheduledAt = "slipway.dev/scheduled-at";
