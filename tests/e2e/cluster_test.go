package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"
)

var (
	scaledObjectKind = schema.GroupVersionKind{Group: "keda.sh", Version: "v1alpha1", Kind: "ScaledObject"}
	scaledJobKind    = schema.GroupVersionKind{Group: "keda.sh", Version: "v1alpha1", Kind: "ScaledJob"}
)

// The control plane of all tests.
var (
	kube    *kubernetes.Clientset
	objects *dynamic.DynamicClient
	mapper  meta.RESTMapper
)

func connect(kubeconfig string) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	config.QPS, config.Burst = 200, 400
	if kube, err = kubernetes.NewForConfig(config); err != nil {
		return err
	}
	mapper = restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(kube.Discovery()))
	objects, err = dynamic.NewForConfig(config)
	return err
}

// timeout is far longer than anything takes: only a test that fails waits that long.
const timeout = 90 * time.Second

// eventually fails the test if the condition does not become true within timeout.
func eventually(t *testing.T, timeout time.Duration, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(timeout); !condition(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s", timeout, what)
		}
	}
}

// makeNamespace creates a namespace that is deleted after the test with all its objects: the pods
// of all tests together would need more GPUs than the nodes have.
func makeNamespace(t *testing.T, name string) {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	namespaces := kube.CoreV1().Namespaces()
	if _, err := namespaces.Create(t.Context(), namespace, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := namespaces.Delete(context.Background(), name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
}

// create creates the object in a YAML text.
func create(t *testing.T, namespace, text string) {
	t.Helper()
	object, client := parse(t, namespace, text)
	if _, err := client.Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
}

// patch merges the YAML text into the object of that kind and name.
func patch(t *testing.T, namespace, text string) {
	t.Helper()
	object, client := parse(t, namespace, text)
	change, err := object.MarshalJSON()
	if err == nil {
		_, err = client.Patch(t.Context(), object.GetName(), types.MergePatchType, change, metav1.PatchOptions{})
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
}

func parse(t *testing.T, namespace, text string) (*unstructured.Unstructured,
	dynamic.ResourceInterface) {
	t.Helper()
	object, client, err := objectOf(namespace, text)
	if err != nil {
		t.Fatal(err)
	}
	return object, client
}

func objectOf(namespace, text string) (*unstructured.Unstructured, dynamic.ResourceInterface, error) {
	object := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &object.Object); err != nil {
		return nil, nil, fmt.Errorf("%w\n%s", err, text)
	}
	client, err := clientOf(namespace, object.GroupVersionKind())
	return object, client, err
}

func resource(t *testing.T, namespace string, kind schema.GroupVersionKind) dynamic.ResourceInterface {
	t.Helper()
	client, err := clientOf(namespace, kind)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func clientOf(namespace string, kind schema.GroupVersionKind) (dynamic.ResourceInterface, error) {
	mapping, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return nil, err
	}
	return objects.Resource(mapping.Resource).Namespace(namespace), nil
}

// describe returns the conditions and events in `kubectl describe scaledobject`.
func describe(t *testing.T, namespace, name string) string {
	t.Helper()
	var text strings.Builder
	ctx := context.Background() // also for a failed test
	client := resource(t, namespace, scaledObjectKind)
	object, err := client.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err.Error()
	}
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, one := range conditions {
		condition := one.(map[string]any)
		fmt.Fprintf(&text, "%v=%v %v: %v\n", condition["type"], condition["status"], condition["reason"],
			condition["message"])
	}
	events, err := kube.CoreV1().Events(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return text.String() + err.Error()
	}
	for _, event := range events.Items {
		if event.InvolvedObject.Kind == "ScaledObject" && event.InvolvedObject.Name == name {
			fmt.Fprintf(&text, "%s %s: %s\n", event.Type, event.Reason, event.Message)
		}
	}
	return text.String()
}

// statusPatches returns how often the status of ScaledObjects was written since the API server
// started.
func statusPatches(t *testing.T) float64 {
	t.Helper()
	page, err := kube.Discovery().RESTClient().Get().AbsPath("/metrics").DoRaw(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return sumOf(string(page), "apiserver_request_total{", `resource="scaledobjects"`,
		`subresource="status"`, `verb="PATCH"`)
}

// averageSeen returns the average value in the status of a namespace's only HPA.
func averageSeen(t *testing.T, namespace string) float64 {
	t.Helper()
	hpas, err := kube.AutoscalingV2().HorizontalPodAutoscalers(namespace).List(t.Context(),
		metav1.ListOptions{})
	if err != nil || len(hpas.Items) != 1 {
		t.Fatalf("%d HPAs, %v", len(hpas.Items), err)
	}
	metrics := hpas.Items[0].Status.CurrentMetrics
	if len(metrics) != 1 || metrics[0].External == nil || metrics[0].External.Current.AverageValue == nil {
		t.Fatalf("the HPA has %v", metrics)
	}
	return metrics[0].External.Current.AverageValue.AsApproximateFloat64()
}

// conditionOf returns the status of one condition of a ScaledObject.
func conditionOf(t *testing.T, namespace, name, kind string) string {
	t.Helper()
	object, err := resource(t, namespace, scaledObjectKind).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, one := range conditions {
		if condition := one.(map[string]any); condition["type"] == kind {
			return fmt.Sprint(condition["status"])
		}
	}
	return ""
}
