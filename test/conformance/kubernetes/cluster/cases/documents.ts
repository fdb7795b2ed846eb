// What cases write into files.

export const configMap = (name: string, data: Readonly<Record<string, string>> = {}, metadata: object = {}) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, ...metadata },
  data,
});

const container = (command: string) => ({ name: "main", image: "busybox", command: ["sh", "-c", command] });

/** A Pod that never restarts. */
export const pod = (name: string, command: string, more: object = {}, metadata: object = {}) => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name, ...metadata },
  spec: { restartPolicy: "Never", terminationGracePeriodSeconds: 2, containers: [container(command)], ...more },
});

export const job = (name: string, command: string, more: object = {}) => ({
  apiVersion: "batch/v1",
  kind: "Job",
  metadata: { name },
  spec: { ...more, template: { spec: { restartPolicy: "Never", containers: [container(command)] } } },
});

export const deployment = (name: string, replicas: number, more: object = {}) => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name, labels: { app: name } },
  spec: {
    replicas,
    selector: { matchLabels: { app: name } },
    template: {
      metadata: { labels: { app: name } },
      spec: { terminationGracePeriodSeconds: 1, containers: [container("exec sleep 3600")] },
    },
    ...more,
  },
});

export const statefulSet = (name: string, replicas: number, more: object = {}, command = "exec sleep 3600") => {
  const { spec, metadata } = deployment(name, replicas);
  const { template } = spec;
  return {
    apiVersion: "apps/v1",
    kind: "StatefulSet",
    metadata,
    spec: {
      ...spec,
      serviceName: name,
      template: { ...template, spec: { ...template.spec, containers: [container(command)] } },
      ...more,
    },
  };
};

/**
 * Widgets of the group `$NS.example.org`, `$W` in commands, because their names are each case's own: a status, scale, defaults, rules, columns,
 * short names, a category.
 */
export const widgetDefinition = (more: object = {}) => ({
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "widgets-$NS.$NS.example.org" },
  spec: {
    group: "$NS.example.org",
    scope: "Namespaced",
    names: {
      plural: "widgets-$NS",
      singular: "widget-$NS",
      kind: "Widget",
      listKind: "WidgetList",
      shortNames: ["w$NS"],
      categories: ["all"],
    },
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        subresources: {
          status: {},
          scale: { specReplicasPath: ".spec.size", statusReplicasPath: ".status.size" },
        },
        additionalPrinterColumns: [
          { name: "Size", type: "integer", jsonPath: ".spec.size" },
          { name: "Color", type: "string", jsonPath: ".spec.color", priority: 1 },
          { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" },
        ],
        selectableFields: [{ jsonPath: ".spec.color" }],
        schema: {
          openAPIV3Schema: {
            type: "object",
            description: "A widget.",
            properties: {
              spec: {
                type: "object",
                description: "What is wanted.",
                "x-kubernetes-validations": [
                  { rule: "!has(self.size) || self.size <= 10", message: "size may not be more than ten" },
                ],
                properties: {
                  size: { type: "integer", description: "How many." },
                  color: { type: "string", default: "red", description: "Any." },
                  ...more,
                },
              },
              status: { type: "object", properties: { size: { type: "integer" }, phase: { type: "string" } } },
            },
          },
        },
      },
    ],
  },
});

export const widget = (name: string, spec: object = {}, metadata: object = {}) => ({
  apiVersion: "$NS.example.org/v1",
  kind: "Widget",
  metadata: { name, ...metadata },
  spec,
});

/** Removes the definition, which does not go with the namespace. */
export const dropWidgets = "kubectl delete crd $W.$NS.example.org";
