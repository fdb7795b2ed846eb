import type { Cancel, Clock } from "./clock.ts";
import type { Millis } from "./time.ts";

// Node runs timers before it reads what arrived. After a process stood still for longer than a limit, the limit would
// expire with the answer unread in the socket.
const parts = 8;
const longestPart: Millis = 1_000;

/**
 * `clock.after` for waiting on others: the delay counts only while this process runs. It is split into at least eight
 * parts of at most a second, with reads in between; a standstill counts as one part at most.
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
