import type { Explained } from "#engine/index.ts";
import type { TriedEvent, TriedRun } from "../simulation.ts";
import { formatElapsed } from "./run-tree.ts";
import { formatTable } from "#kernel/command/index.node.ts";

/** A simulated run as text: its events, then how every step and the run ended. */
export function simulationText({ name, phase, seconds, events, steps, ...why }: TriedRun): string {
  const lines = events
    .filter(isTold)
    .map((event) => `[${time(event.seconds).padStart(6)}] ${eventText(event, name)}\n`);
  const table = formatTable(
    ["STEP", "PHASE", "TRIES", "START", "END", "REASON"],
    steps.map((step) => [
      step.step,
      step.phase,
      String(step.attempts),
      time(step.startSeconds),
      time(step.endSeconds),
      step.reason ?? "",
    ]),
  );
  return `${lines.join("")}\n${table}\n${name}: ${phase} after ${time(seconds)}${inBrackets(why)}\n`;
}

/** A ready step waits for a moment only. */
const isTold = ({ phase, reason }: TriedEvent): boolean =>
  phase !== "Pending" && !(phase === "Waiting" && (reason === undefined || reason === "Ready"));

/** Starting and running are one moment here. */
function eventText({ step, item, phase, attempt = 0, ...why }: TriedEvent, name: string): string {
  const who = step === undefined ? name : item === undefined ? step : `${step}[${item}]`;
  const word = phase === "Starting" ? "Running" : phase;
  const tries = attempt > 1 ? `, attempt ${attempt}` : "";
  return `${who}: ${word}${tries}${phase === "Starting" ? "" : inBrackets(why)}`;
}

function inBrackets({ reason, message }: Explained): string {
  const told = [reason, message].filter((text) => text !== undefined && text !== "").join(": ");
  return told === "" ? "" : ` (${told})`;
}

const time = (seconds: number | undefined): string => (seconds === undefined ? "" : formatElapsed(seconds * 1000));
