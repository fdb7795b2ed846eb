// What the programs of B9 have in common.

/** With its newline. */
export const lineBytes = 100;

/** The method of the floor. */
export const linePath = "/bench.Lines/Push";

/** As many as agents put into one chunk. */
export const linesOfChunk = Math.floor((64 * 1024) / lineBytes);

/** Those of one chunk, over and over: to make them is not what is measured. */
const lines: readonly Buffer[] = Array.from({ length: linesOfChunk }, (_, at) =>
  Buffer.from(`${`line ${at} `.padEnd(lineBytes - 1, "x")}\n`),
);

export const line = (at: number): Buffer => lines[at % linesOfChunk] ?? Buffer.alloc(0);
