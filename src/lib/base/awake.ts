import type { Cancel, Clock } from "./clock.ts";
import type { Millis } from "./time.ts";

// Timers of Node run before what has arrived is read. A process that was stopped for longer than a limit, or got no processor, would find it
// over in the turn in which it goes on, with the answer lying in the socket.
const parts = 8;
const longestPart: Millis = 1_000;

/**
 * As `clock.after`, of a delay that counts while this process is at work: of a time in which it stood still only a part of the delay is
 * over, of which there are at least eight, none longer than a second. For how long others are waited for: what they have said meanwhile is
 * read between two parts, and who stood still with us has time to say it.
 */
export function afterAwake(clock: Clock, delay: Millis, run: () => void): Cancel {
  const part = Math.min(longestPart, Math.ceil(delay / parts));
  let cancel: Cancel;
  const wait = (left: Millis): void => {
    const next = Math.min(left, part);
    cancel = clock.after(next, left > next ? () => wait(left - next) : run);
  };
  wait(delay);
  return () => cancel();
}
