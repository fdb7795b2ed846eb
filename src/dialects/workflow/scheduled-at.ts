/** On every run of a schedule: the time of the schedule that it was made for, RFC 3339 in UTC. Its expressions know it as `schedule.time`. */
export const scheduledAt = "slipway.dev/scheduled-at";
