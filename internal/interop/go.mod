module github.com/otelstef/stef/internal/interop

go 1.26.0

require (
	github.com/otelstef/stef v0.0.0
	github.com/splunk/stef/go/grpc v0.1.1
	github.com/splunk/stef/go/otel v0.1.1
	github.com/splunk/stef/go/pdata v0.1.1
	github.com/splunk/stef/go/pkg v0.1.1
	github.com/stretchr/testify v1.12.1
	go.opentelemetry.io/collector/pdata v1.70.0
	google.golang.org/grpc v1.85.0
)

require (
	github.com/hashicorp/go-version v1.9.0 // indirect
	github.com/json-iterator/go v1.1.12 // indirect
	github.com/klauspost/compress v1.20.3 // indirect
	github.com/modern-go/concurrent v0.0.0-20180306012644-bacd9c7ef1dd // indirect
	github.com/modern-go/reflect2 v1.0.3-0.20250322232337-35a7c28c31ee // indirect
	go.opentelemetry.io/collector/featuregate v1.70.0 // indirect
	go.opentelemetry.io/collector/pdata/xpdata v0.164.0 // indirect
	go.uber.org/multierr v1.11.0 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	golang.org/x/net v0.61.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
	golang.org/x/text v0.43.0 // indirect
	google.golang.org/genproto/googleapis/rpc v0.0.0-20260817212433-ac3dfec99bb1 // indirect
	google.golang.org/protobuf v1.36.12 // indirect
	modernc.org/b/v2 v2.1.10 // indirect
)

replace github.com/otelstef/stef => ../..
