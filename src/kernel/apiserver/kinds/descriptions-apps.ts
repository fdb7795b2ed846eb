import type { TypeDescriptions } from "./descriptions.ts";

// Texts for `kubectl explain` of apps/v1; the form and its rules are those of descriptions-core.ts.

const metadata = "Name, labels, owners and what the server keeps about the object.";
const selector = "Labels of the Pods. The template has them. Cannot be changed.";
const minReadySeconds = "Time a Pod must be ready before it counts as available.";
const template = "What its Pods look like. Their restartPolicy is Always.";
const replicas = "Pods that are wanted. 1 when absent.";

// They say what this server does, which is what Kubernetes does but for what is said in #kernel/workloads: a ReplicaSet whose Pods end
// at once makes new ones ever more slowly. Texts that several types share stand above, so that they cannot come to differ.

export const appsDescriptions: Readonly<Record<string, TypeDescriptions>> = {
  "v1.Deployment": {
    "": "Keeps Pods of one template alive, and replaces them step by step when the template changes.",
    metadata,
    spec: "What is wanted.",
    status: "What there is.",
  },
  "v1.DeploymentSpec": {
    "": "How many Pods, of which template, and how they are replaced.",
    replicas,
    selector,
    template,
    minReadySeconds,
    strategy: "How Pods of an old template give way to those of the new one.",
    paused: "While it is true a new template waits.",
    revisionHistoryLimit: "Former templates that are kept to go back to. 10 when absent.",
    progressDeadlineSeconds: "Time without progress after which an update counts as stuck. 600 when absent.",
  },
  // Defaults are told where they are more than an absence: people look them up here.
  "v1.DeploymentStrategy": {
    "": "How Pods are replaced.",
    type: "RollingUpdate: a few at a time. Recreate: the old ones end before the first new one starts.",
    rollingUpdate: "How many at a time.",
  },
  "v1.RollingUpdateDeployment": {
    "": "How far an update may stray from the wanted number of Pods.",
    maxSurge: "Pods above it, as a number or a share. 25% when absent, rounded up.",
    maxUnavailable: "Pods below it, as a number or a share. 25% when absent, rounded down.",
  },
  // Counts are sums over all ReplicaSets of the Deployment, as these last counted themselves.
  "v1.DeploymentStatus": {
    "": "Counts of its Pods.",
    observedGeneration: "The generation these counts are of.",
    replicas: "Pods of all templates.",
    updatedReplicas: "Pods of the present template.",
    readyReplicas: "Pods that are ready.",
    availableReplicas: "Pods that have been ready for minReadySeconds.",
    unavailableReplicas: "Pods that are wanted and not available.",
    conditions: "Available, Progressing, ReplicaFailure.",
  },
  // ReplicaSets are explained for who debugs a Deployment; nobody writes them by hand.
  "v1.ReplicaSet": {
    "": "Keeps a number of Pods of one template alive. Deployments make them.",
    metadata,
    spec: "What is wanted.",
    status: "What there is.",
  },
  "v1.ReplicaSetSpec": {
    "": "How many Pods, and of which template.",
    replicas,
    selector,
    template,
    minReadySeconds,
  },
  "v1.ReplicaSetStatus": {
    "": "Counts of its Pods that have neither ended nor begun to end.",
    replicas: "All of them.",
    fullyLabeledReplicas: "Those with all labels of the template.",
    readyReplicas: "Those that are ready.",
    availableReplicas: "Those that have been ready for minReadySeconds.",
    observedGeneration: "The generation these counts are of.",
    conditions: "ReplicaFailure.",
  },
};
