// What is said while a clone is built, which takes some ten seconds the first time.

/** For so long a program says nothing, and nobody wonders. */
const quietMs = 1000;

/**
 * Tells people that something is built: in a terminal at once, elsewhere when it lasts, since what is written to stderr may be read as the program's own. Answers with
 * what is called when it is done, or was not needed.
 * @param {{readonly isTTY?: boolean | undefined, write(text: string): unknown}} stderr
 * @param {(act: () => void, ms: number) => () => void} after answers with what takes it back
 * @returns {() => void}
 */
export function tellBuild(stderr, after) {
  const say = () => void stderr.write("slipway: building from the sources, which takes some seconds...\n");
  if (stderr.isTTY === true) {
    say();
    return () => undefined;
  }
  return after(say, quietMs);
}
