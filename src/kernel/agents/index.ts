export { Agent } from "./agent-kind.ts";
export { agentName } from "./agent-name.ts";
export type { Newcomer } from "./agent-records.ts";
export { Connections } from "./connections.ts";
export { Fleet, type FleetOptions } from "./fleet.ts";
export { Waiters } from "./waiters.ts";
export { WakeTimers } from "./wake-timers.ts";
