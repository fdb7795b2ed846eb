import { currentIndex, type Phase, type WorkflowState } from "../state.ts";

// Anyone with write access can put any phase into a status. Only `Cancelling` is a command.

/** The phase that the record amounts to, if the written one is impossible; else undefined. */
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
