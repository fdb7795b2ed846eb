import { maskAnnotation } from "#kernel/model/index.ts";
import type { Container, PodObject } from "../pod-types.ts";
import { sourceKey, type Sources } from "./config-sources.ts";

export const isMasked = ({ metadata }: PodObject): boolean => metadata.annotations?.[maskAnnotation] !== undefined;

/** Variables masked in the container's log, if the Pod asks for it: from Secrets, and those annotated. */
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
