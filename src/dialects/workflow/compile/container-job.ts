import type { JsonObject } from "#lib/base/index.ts";

/** Path of the short form's fields in the Job, except `volumes`. */
export const mainContainer = ["spec", "template", "spec", "containers", 0] as const;

/** A `container` step as `jobTemplate`: one container named `main` and one try, because retries are the step's. */
export function jobOfContainer(container: JsonObject): JsonObject {
  const { volumes, ...main } = container;
  const pod = {
    restartPolicy: "Never",
    containers: [{ name: "main", ...main }],
    ...(volumes === undefined ? {} : { volumes }),
  };
  return { spec: { backoffLimit: 0, template: { spec: pod } } };
}
