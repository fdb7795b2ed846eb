import { agentName as nameOfKey } from "#kernel/agents/index.ts";
import { agentKey } from "../state.ts";

/** An agent's id as the name of its object; `isTaken`: another agent has the usual one. */
export const agentName = (agentID: string, isTaken = false): string => nameOfKey(agentKey(agentID.trim()), isTaken);
