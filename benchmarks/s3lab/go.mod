module fanout/s3lab

go 1.21
