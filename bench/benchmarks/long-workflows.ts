import { sized } from "../harness/sizes.ts";

/** The most that a document may hold. */
export const mostSteps = 1000;
const written = sized(mostSteps);

const workflowOf = (name: string, spec: readonly string[], steps: readonly string[]): string =>
  [
    "apiVersion: slipway.dev/v1alpha1",
    "kind: Workflow",
    `metadata: {name: ${name}}`,
    "spec:",
    "  activeDeadlineSeconds: 3600",
    ...spec,
    "  steps:",
    ...steps,
    "",
  ].join("\n");

/** A chain: each step waits for the one before it. No expressions, so that it is what steps as such cost. */
export const longWorkflow = workflowOf(
  "long",
  [],
  Array.from({ length: written }, (_, at) => [
    `    s${at}:`,
    ...(at === 0 ? [] : [`      dependencies: [s${at - 1}]`]),
    "      container:",
    "        image: busybox",
    `        command: [sh, -c, "echo ${at}"]`,
  ]).flat(),
);

const width = 100;

/**
 * Ten layers of a hundred steps: each has an output and an environment variable of the same expression as all others, and all but those of the
 * first layer wait for two steps and have a condition of their own, 1,900 expressions together.
 */
export const richWorkflow = workflowOf(
  "rich",
  ["  params:", "    - {name: who, type: string, default: world}"],
  Array.from({ length: written }, (_, at) => {
    const [layer, place] = [Math.floor(at / width), at % width];
    const [left, right] = [`l${layer - 1}-s${place}`, `l${layer - 1}-s${(place + 1) % width}`];
    const behind = [
      `      dependencies: [${left}, ${right}]`,
      `      when: success() && steps["${left}"].outputs.out != "${place}"`,
    ];
    return [
      `    l${layer}-s${place}:`,
      ...(layer === 0 ? [] : behind),
      "      container:",
      "        image: busybox",
      '        command: [sh, -c, "echo $WHO > out"]',
      "        env:",
      '          - {name: WHO, value: "${{ params.who }}"}',
      "      outputs: {out: {default: none}}",
    ];
  }).flat(),
);
