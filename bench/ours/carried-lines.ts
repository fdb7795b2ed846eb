// What the programs of B9e have in common: builds of four steps that print numbered lines of 100 bytes.

export const carriedSteps = 4;

/** What is told of such a build beside its lines. */
export const carriedBuild = {
  buildId: 1,
  projectId: 1,
  instance: "local",
  runtime: "host",
  definitionSha256: "00",
  stages: [{ stageId: 1, name: "build", runsIf: "success" }],
  steps: Array.from({ length: carriedSteps }, (_, at) => ({
    stepId: at + 1,
    stageId: 1,
    name: `step${at + 1}`,
    type: "container",
    image: "",
  })),
} as const;

/** Without its newline. `id`: its number in the log of its step, from 1. */
export const carriedLine = (id: number): string => `line ${id} `.padEnd(99, "x");

/** About what a pipe gives at once. */
const linesOfChunk = 500;

/** Everything that one step prints, in pieces. */
export const printedChunks = (lines: number): readonly Buffer[] =>
  Array.from({ length: Math.ceil(lines / linesOfChunk) }, (_, chunk) => {
    const first = chunk * linesOfChunk + 1;
    const count = Math.min(linesOfChunk, lines - first + 1);
    return Buffer.from(Array.from({ length: count }, (_line, at) => `${carriedLine(first + at)}\n`).join(""));
  });
