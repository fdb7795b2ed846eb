import { maskAnnotation } from "#kernel/model/index.ts";
import type { Container, PodObject } from "../pod-types.ts";
import { sourceKey, type Sources } from "./config-sources.ts";

export const isMasked = ({ metadata }: PodObject): boolean => metadata.annotations?.[maskAnnotation] !== undefined;

/**
 * The variables whose values are masked in the container's log: none unless the Pod asks for it, then those from
 * Secrets and those that the annotation names.
 */
export function maskedVariables({ metadata }: PodObject, container: Container, sources: Sources): readonly string[] {
  const asked = metadata.annotations?.[maskAnnotation];
  if (asked === undefined) return [];
  const named = asked.split(",").map((name) => name.trim());
  const whole = (container.envFrom ?? []).flatMap(({ secretRef, prefix = "" }) => {
    const contents = secretRef && sources.get(sourceKey({ kind: "Secret", name: secretRef.name ?? "" }));
    return [...(contents?.keys() ?? [])].map((key) => `${prefix}${key}`);
  });
  const single = (container.env ?? []).filter(({ valueFrom }) => valueFrom?.secretKeyRef !== undefined);
  const names = [...named, ...whole, ...single.map(({ name }) => name)].filter((name) => name !== "");
  return [...new Set(names)];
}
