import { type Case, eventually, refused } from "../suite/case.ts";
import { configMap, deployment, dropWidgets, job, widget, widgetDefinition } from "./documents.ts";

const revision = "-o 'jsonpath={.metadata.resourceVersion}'";
const strict = `kubectl create --validate=true -f`;

export const applyCases: readonly Case[] = [
  {
    line: 4,
    name: "apply creates a ConfigMap, leaves it unchanged, configures it",
    files: { "a.json": configMap("a", { k: "1" }), "b.json": configMap("a", { k: "2" }) },
    steps: [
      ["kubectl apply -f a.json", "configmap/a created\n"],
      [`kubectl get cm a ${revision} >before`],
      ["kubectl apply -f a.json", "configmap/a unchanged\n"],
      [`kubectl get cm a ${revision} | cmp - before`],
      ["kubectl apply -f b.json", "configmap/a configured\n"],
      ["kubectl get cm a -o 'jsonpath={.data.k}'", "2"],
      ["kubectl apply view-last-applied cm/a -o json", /"k": "2"/],
    ],
  },
  {
    line: 4,
    name: "apply creates a Deployment, leaves it unchanged, configures it",
    needs: ["deployments.apps"],
    files: { "a.json": deployment("a", 0), "b.json": deployment("a", 0, { minReadySeconds: 1 }) },
    steps: [
      ["kubectl apply -f a.json", "deployment.apps/a created\n"],
      ["kubectl wait --for=condition=Available deployment/a --timeout=60s"],
      ["kubectl apply -f a.json", "deployment.apps/a unchanged\n"],
      ["kubectl apply -f b.json", "deployment.apps/a configured\n"],
      ["kubectl get deploy a -o 'jsonpath={.spec.minReadySeconds}'", "1"],
    ],
  },
  {
    line: 4,
    name: "apply creates a Job, leaves it unchanged, configures it",
    files: { "a.json": job("a", "true", { backoffLimit: 1 }), "b.json": job("a", "true", { backoffLimit: 2 }) },
    steps: [
      ["kubectl apply -f a.json", "job.batch/a created\n"],
      ["kubectl wait --for=condition=complete job/a --timeout=60s"],
      ["kubectl apply -f a.json", "job.batch/a unchanged\n"],
      ["kubectl apply -f b.json", "job.batch/a configured\n"],
    ],
  },
  {
    line: 4,
    name: "apply creates a custom object, leaves it unchanged, configures it",
    files: {
      "crd.json": widgetDefinition(),
      "a.json": widget("a", { size: 1 }),
      "b.json": widget("a", { size: 2 }),
    },
    steps: [
      ["kubectl apply -f crd.json && kubectl wait --for=condition=Established crd/$W.$NS.example.org"],
      ["kubectl apply -f a.json", "widget.$NS.example.org/a created\n"],
      [`kubectl get $W a ${revision} >before`],
      ["kubectl apply -f a.json", "widget.$NS.example.org/a unchanged\n"],
      [`kubectl get $W a ${revision} | cmp - before`],
      ["kubectl apply -f b.json", "widget.$NS.example.org/a configured\n"],
      ["kubectl get $W a -o 'jsonpath={.spec.size} {.metadata.generation}'", "2 2"],
      [dropWidgets],
    ],
  },
  {
    line: 7,
    name: "diff tells changes by its exit code and makes none",
    files: { "a.json": configMap("a", { k: "1" }), "b.json": configMap("a", { k: "2" }) },
    since: 21,
    steps: [
      ["kubectl apply -f a.json"],
      [`kubectl get cm a ${revision} >before`],
      ["kubectl diff -f a.json", ""],
      ["kubectl diff -f b.json", { code: 1, out: [/^-  k: "1"$/m, /^\+  k: "2"$/m] }],
      [`kubectl get cm a ${revision} | cmp - before`],
    ],
  },
  {
    line: 7,
    name: "diff --server-side tells changes by its exit code and makes none",
    files: { "a.json": configMap("a", { k: "1" }), "b.json": configMap("a", { k: "2" }), "n.json": configMap("n") },
    since: 21,
    steps: [
      ["kubectl apply --server-side -f a.json"],
      [`kubectl get cm a ${revision} >before`],
      ["kubectl diff --server-side -f a.json", ""],
      ["kubectl diff --server-side -f b.json", { code: 1, out: [/^-  k: "1"$/m, /^\+  k: "2"$/m] }],
      ["kubectl diff --server-side -f n.json", { code: 1, out: /^\+kind: ConfigMap$/m }],
      [`kubectl get cm a ${revision} | cmp - before`],
      ["kubectl get cm n", refused(/configmaps "n" not found/)],
    ],
  },
  {
    line: 9,
    name: "--dry-run=server of all writes stores nothing",
    since: 21,
    files: {
      "a.json": configMap("a", { k: "1" }),
      "b.json": configMap("a", { k: "2" }),
      "n.json": configMap("n", { k: "1" }),
    },
    steps: [
      ["kubectl create -f a.json"],
      [`kubectl get cm a ${revision} >before`],
      ["kubectl create --dry-run=server -f n.json", "configmap/n created (server dry run)\n"],
      ["kubectl create configmap n --dry-run=server --from-literal=a=b", "configmap/n created (server dry run)\n"],
      ["kubectl apply --dry-run=server -f b.json 2>/dev/null", "configmap/a configured (server dry run)\n"],
      [
        "kubectl apply --server-side --force-conflicts --dry-run=server -f b.json",
        /serverside-applied \(server dry run/,
      ],
      ["kubectl replace --dry-run=server -f b.json", "configmap/a replaced (server dry run)\n"],
      [`kubectl patch --dry-run=server cm a --type=merge -p '{"data":{"k":"2"}}'`, /patched/],
      ["kubectl label --dry-run=server cm a l=1", /labeled/],
      ["kubectl annotate --dry-run=server cm a l=1", /annotated?/],
      ["kubectl delete --dry-run=server cm a", /deleted \(server dry run\)/],
      [`kubectl get cm a ${revision} | cmp - before`],
      ["kubectl get cm n", refused(/not found/)],
    ],
  },
  {
    line: 9,
    name: "--dry-run=server of what changes workloads stores nothing",
    since: 21,
    needs: ["deployments.apps"],
    files: { "d.json": deployment("d", 0) },
    steps: [
      ["kubectl create -f d.json"],
      // Its controller has looked at it, and writes no more.
      ["kubectl get deployment d -o 'jsonpath={.status.observedGeneration}'", eventually("1")],
      ["kubectl get deployment d -o 'jsonpath={.status.conditions[0].type}'", eventually(/./)],
      [`kubectl get deployment d ${revision} >before`],
      ["kubectl scale deployment d --replicas=2 --dry-run=server", /scaled/],
      ["kubectl set image deployment d main=busybox:2 --dry-run=server", /image updated/],
      ["kubectl delete deployment --all --dry-run=server", /deleted \(server dry run\)/],
      ["kubectl run p --image=busybox --dry-run=server", "pod/p created (server dry run)\n"],
      [`kubectl get deployment d ${revision} | cmp - before`],
      ["kubectl get pods -o name", ""],
    ],
  },
  {
    line: 9,
    name: "a server dry run shows what would be stored, defaults included",
    since: 21,
    files: { "job.json": job("dry", "true") },
    steps: [
      [
        "kubectl create --dry-run=server -f job.json -o 'jsonpath={.spec.backoffLimit} {.spec.template.spec.dnsPolicy}'",
        "6 ClusterFirst",
      ],
      ["kubectl get job dry", refused(/not found/)],
    ],
  },
  {
    line: 9,
    name: "a server dry run is refused as the write would be",
    since: 21,
    files: { "bad.json": job("bad", "true", { parallelism: -1 }) },
    steps: [
      ["kubectl create --dry-run=server -f bad.json", refused(/spec\.parallelism: Invalid value: -1/)],
      ["kubectl create --dry-run=server cm kube-root-ca.crt", refused(/already exists/)],
    ],
  },
  {
    line: 10,
    name: "--validate=true refuses an unknown field and names its path",
    files: { "a.json": { ...job("a", "true", { paralelism: 1 }) } },
    steps: [
      [`${strict} a.json`, refused(/unknown field "(spec\.)?paralelism"/)],
      ["kubectl get job a", refused(/not found/)],
    ],
  },
  {
    line: 10,
    name: "--validate=warn warns of an unknown field and goes on without it",
    since: 25,
    files: { "a.json": job("a", "true", { paralelism: 1 }) },
    steps: [
      [
        "kubectl create --validate=warn -f a.json",
        { out: /created/, err: /Warning: unknown field "spec\.paralelism"/ },
      ],
      ["kubectl get job a -o json", { never: /paralelism/ }],
    ],
  },
  {
    line: 10,
    name: "--validate=strict refuses unknown and double fields of custom objects by their paths",
    since: 25,
    files: {
      "crd.json": widgetDefinition(),
      "a.yaml": "apiVersion: $NS.example.org/v1\nkind: Widget\nmetadata: {name: a}\nspec: {size: 1, sise: 2}\n",
    },
    steps: [
      ["kubectl apply -f crd.json && kubectl wait --for=condition=Established crd/$W.$NS.example.org"],
      ["kubectl apply --validate=strict -f a.yaml", refused(/unknown field "spec\.sise"/)],
      ["kubectl apply --validate=warn -f a.yaml", { err: /Warning: unknown field "spec\.sise"/ }],
      ["kubectl get $W a -o 'jsonpath={.spec}'", /^\{"color":"red","size":1\}$/],
      [dropWidgets],
    ],
  },
  {
    line: 10,
    name: "--validate=ignore says nothing and goes on without the field",
    since: 25,
    files: { "a.json": job("a", "true", { paralelism: 1 }) },
    steps: [["kubectl create --validate=ignore -f a.json", { out: /created/, never: /paralelism/ }]],
  },
];
