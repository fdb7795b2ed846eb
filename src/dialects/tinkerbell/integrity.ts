import { currentIndex, type Phase, type WorkflowState } from "./state.ts";

// Whoever may write a status may write any word into it. Only one word is a command, `Cancelling`; every other one has to agree with what is
// recorded besides: who was told, which actions have begun, how they ended.

/**
 * The phase that what is recorded amounts to, when the phase that is written cannot be true; undefined when it can. Moves of the
 * state machine never lead to such a phase.
 */
export function restoredPhase(state: WorkflowState): Phase | undefined {
  return canBe(state) ? undefined : derivedPhase(state);
}

function canBe(state: WorkflowState): boolean {
  const { phase, dispatch, reason } = state;
  switch (phase) {
    case "":
      return state.actions.length === 0;
    case "Preparing":
    case "Pending":
      return !dispatch.held && !hasBegun(state);
    case "Scheduled":
      return dispatch.held && !hasBegun(state);
    case "Running":
      return hasBegun(state) && !isDone(state) && !hasFailed(state);
    case "Post":
    case "Succeeded":
      return isDone(state) && !hasFailed(state);
    case "Canceled":
    case "Failed":
      return reason !== undefined;
    case "Cancelling":
      return true;
  }
}

/** In the order in which things happen, the last first. */
function derivedPhase(state: WorkflowState): Phase {
  if (state.actions.length === 0) return "";
  if (hasFailed(state)) return "Failed";
  if (isDone(state)) return "Succeeded";
  if (hasBegun(state)) return "Running";
  return state.dispatch.held ? "Scheduled" : "Pending";
}

const hasBegun = ({ startedAt, actions }: WorkflowState): boolean =>
  startedAt !== undefined || actions.some(({ phase }) => phase !== "Pending");
const hasFailed = ({ actions }: WorkflowState): boolean => actions.some(({ phase }) => phase === "Failed");
const isDone = (state: WorkflowState): boolean =>
  state.actions.length > 0 && currentIndex(state) === state.actions.length;
