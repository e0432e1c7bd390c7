package main

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"os"
)

// issuerKeys are the private keys of who issues the users' JWTs, by the name of their algorithm, which is their kid as well.
type issuerKeys map[string]crypto.Signer

// makeKeys writes a key for each algorithm into a file, and gives the set of the public ones.
func makeKeys(path string) ([]byte, error) {
	elliptical, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	modular, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, err
	}
	var text []byte
	for _, key := range []interface{}{elliptical, modular} {
		bytes, err := x509.MarshalPKCS8PrivateKey(key)
		if err != nil {
			return nil, err
		}
		text = append(text, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: bytes})...)
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		return nil, err
	}
	return json.Marshal(map[string]interface{}{"keys": []map[string]string{
		{"kty": "EC", "crv": "P-256", "kid": "es256", "alg": "ES256", "use": "sig",
			"x": number(elliptical.X, 32), "y": number(elliptical.Y, 32)},
		{"kty": "RSA", "kid": "rs256", "alg": "RS256", "use": "sig",
			"n": number(modular.N, modular.Size()), "e": number(big.NewInt(int64(modular.E)), 3)},
	}})
}

func number(value *big.Int, size int) string {
	return base64.RawURLEncoding.EncodeToString(value.FillBytes(make([]byte, size)))
}

func readKeys(path string) (issuerKeys, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	keys := issuerKeys{}
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
		if err != nil {
			return nil, err
		}
		switch key := key.(type) {
		case *ecdsa.PrivateKey:
			keys["es256"] = key
		case *rsa.PrivateKey:
			keys["rs256"] = key
		}
	}
	if len(keys) < 2 {
		return nil, errors.New("no keys for both algorithms in " + path)
	}
	return keys, nil
}

// sign gives the signature of a digest as JWTs have it.
func (k issuerKeys) sign(algorithm string, digest []byte) ([]byte, error) {
	switch key := k[algorithm].(type) {
	case *ecdsa.PrivateKey:
		r, s, err := ecdsa.Sign(rand.Reader, key, digest)
		if err != nil {
			return nil, err
		}
		signature := make([]byte, 64)
		r.FillBytes(signature[:32])
		s.FillBytes(signature[32:])
		return signature, nil
	case *rsa.PrivateKey:
		return rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, digest)
	}
	return nil, fmt.Errorf("no such algorithm: %s", algorithm)
}
