import type { Explained } from "#engine/index.ts";
import type { TriedEvent, TriedRun } from "../simulation.ts";
import { formatElapsed } from "./run-tree.ts";
import { formatTable } from "#kernel/command/index.node.ts";

/** A run that was tried, for people: what happens when, then how every step and the run end. */
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

/** Every ready step waits for a moment, and nothing is to be seen of that. */
const isTold = ({ phase, reason }: TriedEvent): boolean =>
  phase !== "Pending" && !(phase === "Waiting" && (reason === undefined || reason === "Ready"));

/** What is intended here lives at once, so that people need only one word for both. */
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
