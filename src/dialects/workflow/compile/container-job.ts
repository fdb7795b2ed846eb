import type { JsonObject } from "#lib/base/index.ts";

/** Where the fields of the short form stand in what is made of it, all but `volumes`. */
export const mainContainer = ["spec", "template", "spec", "containers", 0] as const;

/**
 * The short form of a step as a `jobTemplate`: one container named `main`, which is tried once, because trying again is the
 * step's own business (`retry`). `volumes` is the Pod's, everything else the container's, so that the field `x` of the short
 * form is found at `spec.template.spec.containers[0].x`.
 */
export function jobOfContainer(container: JsonObject): JsonObject {
  const { volumes, ...main } = container;
  const pod = {
    restartPolicy: "Never",
    containers: [{ name: "main", ...main }],
    ...(volumes === undefined ? {} : { volumes }),
  };
  return { spec: { backoffLimit: 0, template: { spec: pod } } };
}
