import { type JsonObject, isTrueAt, numberAt, objectAt, objectsAt, textAt } from "#lib/base/index.ts";
import { formatAge } from "#lib/base/index.ts";
import type { TableView } from "../kinds/built-in.ts";
import { ageColumn, nameColumn, none, shown, wide } from "./columns.ts";
import { formatSelector } from "./job.ts";
import { age, integer, name } from "./stored-only.ts";

export const priorityClassTable: TableView = {
  columns: [
    nameColumn,
    shown("Value", "Pods with a larger value come first.", integer),
    shown("Global-Default", "True for the class of Pods that name none.", { type: "boolean" }),
    ageColumn,
    wide("PreemptionPolicy", "Whether its Pods may displace others."),
  ],
  row: (found, now) => [
    name(found),
    numberAt(found, "value") ?? 0,
    isTrueAt(found, "globalDefault"),
    age(found, now),
    textAt(found, "preemptionPolicy") ?? "",
  ],
};

const defaultClass = "storageclass.kubernetes.io/is-default-class";

/** Marks the default class, as in Kubernetes. */
export const storageClassTable: TableView = {
  columns: [
    nameColumn,
    shown("Provisioner", "Who makes the volumes."),
    shown("ReclaimPolicy", "What becomes of a volume when its claim is deleted."),
    shown("VolumeBindingMode", "When a claim is bound."),
    shown("AllowVolumeExpansion", "Whether volumes can grow."),
    ageColumn,
  ],
  row: (found, now) => [
    name(found) + (textAt(found, "metadata", "annotations", defaultClass) === "true" ? " (default)" : ""),
    textAt(found, "provisioner") ?? "",
    textAt(found, "reclaimPolicy") ?? "Delete",
    textAt(found, "volumeBindingMode") ?? "Immediate",
    isTrueAt(found, "allowVolumeExpansion"),
    age(found, now),
  ],
};

export const certificateSigningRequestTable: TableView = {
  columns: [
    nameColumn,
    ageColumn,
    shown("SignerName", "Who is asked to sign."),
    shown("Requestor", "The user who created it."),
    shown("RequestedDuration", "How long the certificate is to be valid."),
    shown("Condition", "Pending, Approved or Denied; Issued with a certificate."),
  ],
  row(request, now) {
    const seconds = numberAt(request, "spec", "expirationSeconds");
    return [
      name(request),
      age(request, now),
      textAt(request, "spec", "signerName") ?? none,
      textAt(request, "spec", "username") ?? "",
      seconds === undefined ? none : formatAge(seconds * 1000),
      conditionOf(request),
    ];
  },
};

function conditionOf(request: JsonObject): string {
  const types = objectsAt(request, "status", "conditions").map((condition) => textAt(condition, "type"));
  const judged = types.includes("Denied") ? "Denied" : types.includes("Approved") ? "Approved" : "Pending";
  const failed = types.includes("Failed") ? ",Failed" : "";
  return judged + failed + (textAt(request, "status", "certificate") === undefined ? "" : ",Issued");
}

export const controllerRevisionTable: TableView = {
  columns: [
    nameColumn,
    shown("Controller", "Whose template it is."),
    shown("Revision", "Counts the templates of the controller."),
    ageColumn,
  ],
  row(revision, now) {
    const owner = objectsAt(revision, "metadata", "ownerReferences").find((reference) =>
      isTrueAt(reference, "controller"),
    );
    const [group = "", version] = (textAt(owner, "apiVersion") ?? "").split("/");
    const kind = `${(textAt(owner, "kind") ?? "").toLowerCase()}${version === undefined ? "" : `.${group}`}`;
    return [
      name(revision),
      owner === undefined ? none : `${kind}/${textAt(owner, "name") ?? ""}`,
      numberAt(revision, "revision") ?? 0,
      age(revision, now),
    ];
  },
};

/** No age, as in Kubernetes. */
export const podTemplateTable: TableView = {
  columns: [
    nameColumn,
    shown("Containers", "Names of the containers."),
    shown("Images", "Images of the containers."),
    shown("Pod Labels", "Labels of the Pods."),
  ],
  row(found) {
    const containers = objectsAt(found, "template", "spec", "containers");
    const join = (member: string) => containers.map((container) => textAt(container, member) ?? "").join(",");
    const matchLabels = objectAt(found, "template", "metadata", "labels") ?? {};
    return [name(found), join("name"), join("image"), formatSelector({ matchLabels })];
  },
};
